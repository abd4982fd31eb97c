import { expect, test } from 'vitest'

import { planScene } from './scene-plan.ts'

test('planning is deterministic and depends on seed and style', () => {
  const request = { prompt: 'A paper lantern', style: 'dreamy', seed: 4 }
  expect(planScene(request)).toEqual(planScene({ ...request }))
  expect(planScene({ ...request, seed: 5 }).seed).not.toBe(planScene(request).seed)
  expect(planScene({ ...request, style: 'noir' }).palette).not.toEqual(planScene(request).palette)
})

test.each([
  ['A whale swimming through a calm ocean at sunset', 'water', 'sunset'],
  ['A dragon over snowy mountains', 'mountains', 'ice'],
  ['An astronaut floating near a ringed planet in deep space', 'space', 'night'],
  ['A quiet pine forest in the morning mist', 'forest', 'dawn'],
  ['A neon city at night', 'city', 'neon'],
  ['Golden dunes in the desert', 'dunes', 'desert'],
  ['A pine forest where trees lean over a river at dusk', 'forest', 'sunset'],
  ['雪山上的龙', 'mountains', 'ice'],
  ['夕阳下的大海', 'water', 'sunset'],
])('%s', (prompt, biome, paletteName) => {
  expect(planScene({ prompt })).toMatchObject({ biome, paletteName })
})

test('keywords match whole words only', () => {
  const plans = ['A seasoned icing', 'seasoned icing!', 'the seasoned icing'].map((prompt) =>
    planScene({ prompt }),
  )
  expect(plans.every((plan) => plan.paletteName === 'ice' && plan.biome === 'water')).toBe(false)
})

test('a prompt without known words gets a neutral scene in varying palettes', () => {
  const plans = Array.from({ length: 60 }, (_, index) => planScene({ prompt: `something number ${index}` }))
  expect(new Set(plans.map((plan) => plan.paletteName)).size).toBeGreaterThan(5)
  expect(new Set(plans.map((plan) => plan.biome))).toEqual(new Set(['plain']))
  expect(plans.every((plan) => plan.subjects.length === 0)).toBe(true)
})

test.each([
  ['@ocean_girl smiles', 'water'],
  ['@citykid smiles', 'city'],
  ['two children building a snowman', 'city'],
])('%s: no %s', (prompt, biome) => {
  expect(planScene({ prompt }).biome).not.toBe(biome)
})

test.each([
  ['a dog running', 'follow', 'grass', undefined],
  ['a cat', 'still', 'grass', undefined],
  ['a car', 'follow', 'grass', 'road'],
  ['a train', 'follow', 'grass', 'rails'],
  ['a car in the city', 'follow', 'street', undefined],
  ['a horse in the snow', 'still', 'snow', undefined],
  ['a dog on the beach', 'still', 'sand', undefined],
  ['a cup on a table', 'still', 'table', undefined],
  ['a train crossing a bridge', 'still', undefined, undefined],
  ['a cat in a boat', 'pan', undefined, undefined],
  ['a lake', 'pan', undefined, undefined],
])('%s: the camera mode is %s', (prompt, camera, surface, track) => {
  expect(planScene({ prompt })).toMatchObject({ camera, surface, track })
})

test('a neon style changes the colours but not the place', () => {
  expect(planScene({ prompt: 'a lake', style: 'neon' })).toMatchObject({
    biome: 'water',
    paletteName: 'neon',
  })
})

import { expect, test } from 'vitest'

import { planScene } from './scene-plan.ts'

test('the same wish gives the same plan, another gives another', () => {
  const wish = { prompt: 'A paper lantern', style: 'dreamy', seed: 4 }
  expect(planScene(wish)).toEqual(planScene({ ...wish }))
  expect(planScene({ ...wish, seed: 5 }).seed).not.toBe(planScene(wish).seed)
  expect(planScene({ ...wish, style: 'noir' }).palette).not.toEqual(planScene(wish).palette)
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

test('keywords count as whole words only', () => {
  const plans = ['A seasoned icing', 'seasoned icing!', 'the seasoned icing'].map((prompt) =>
    planScene({ prompt }),
  )
  expect(plans.every((plan) => plan.paletteName === 'ice' && plan.biome === 'water')).toBe(false)
})

test('a prompt about nothing known gets a neutral scene, in many lights', () => {
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
])('%s: the scenery is %s', (prompt, pace, surface, track) => {
  expect(planScene({ prompt })).toMatchObject({ pace, surface, track })
})

test('a neon style recolours any scene without moving it', () => {
  expect(planScene({ prompt: 'a lake', style: 'neon' })).toMatchObject({
    biome: 'water',
    paletteName: 'neon',
  })
})

import { expect, test } from 'vitest'

import { readScene, readStyle } from '../scenes/read-scene.ts'
import type { Treatment } from './treatment.ts'

test.each<[string, Treatment | undefined]>([
  ['a street in black and white', 'blackAndWhite'],
  ['a black and white film of a dog', 'blackAndWhite'],
  ['make it black and white', 'blackAndWhite'],
  ['rainy city, black-and-white, slow', 'blackAndWhite'],
  ['B&W photo of a bridge', 'blackAndWhite'],
  ['a monochrome forest', 'blackAndWhite'],
  ['黑白电影风格的街道', 'blackAndWhite'],
  ['把它变成黑白', 'blackAndWhite'],
  ['一张黑白照片', 'blackAndWhite'],
  ['黑白的海滩', 'blackAndWhite'],
  ['a detective in the rain, film noir', 'noir'],
  ['noir city', 'noir'],
  ['黑色电影里的侦探', 'noir'],
  ['an old train in sepia', 'sepia'],
  ['sepia-toned village', 'sepia'],
  ['a vintage photo of a train', 'sepia'],
  ['老照片里的村庄', 'sepia'],
  ['改成怀旧风格', 'sepia'],
  ['make it warmer', 'warm'],
  ['暖色调的海边', 'warm'],
  ['a black and white cat', undefined],
  ['the dog is black and white', undefined],
  ['一只黑白猫', undefined],
  ['黑白相间的奶牛', undefined],
  ['a vintage car', undefined],
  ['a girl in blue', undefined],
  ['not in black and white', undefined],
  ['a white house and a black cat', undefined],
  ['复古汽车', undefined],
])('%s', (prompt, treatment) => {
  expect(readScene(prompt).treatment).toBe(treatment)
})

test.each<[string, Treatment | undefined]>([
  ['noir', 'noir'],
  ['black and white', 'blackAndWhite'],
  ['黑白', 'blackAndWhite'],
  ['vintage', 'sepia'],
  ['复古', 'sepia'],
  ['anime', 'vivid'],
  ['cinematic', undefined],
])('the style %s', (style, treatment) => {
  expect(readStyle(style)).toBe(treatment)
})

test('a cat in black and white fur keeps both colours', () => {
  expect(readScene('a black and white cat').subjects[0]?.colours).toHaveLength(2)
  expect(readScene('一只黑白猫').subjects[0]?.colours).toHaveLength(2)
})

import { expect, test } from 'vitest'

import { filmShape } from '../drawing/film-shape.ts'
import { composeMusic } from '../sound/music.ts'
import { landscapeLayers } from './landscape.ts'
import { planScene } from './scene-plan.ts'

const prompts = ['mountain peaks', 'a lake', 'sand dunes', 'a forest', 'a city', 'a planet']

test.each(prompts)('%s: the layers cover the whole film and move by whole pixels', (prompt) => {
  for (const [width, height, seconds] of [
    [1280, 720, 1],
    [480, 480, 25],
    [720, 1280, 60],
  ] as const) {
    const shape = filmShape({ width, height, seconds })
    const layers = landscapeLayers(planScene({ prompt }), shape)
    expect(layers).toHaveLength(4)
    for (const layer of layers) {
      expect(Number.isInteger(layer.speed)).toBe(true)
      const furthest = Math.min(layer.period, layer.speed * shape.frameCount)
      expect(layer.width).toBeGreaterThanOrEqual(width + furthest)
      expect(layer.width).toBeLessThanOrEqual(3 * width + 2)
      expect(layer.top % 2).toBe(0)
      expect(layer.top + layer.height).toBeLessThanOrEqual(height)
      expect(layer.svg).not.toContain('NaN')
    }
  }
})

test('drawing is deterministic', () => {
  const shape = filmShape({ width: 320, height: 180, seconds: 2 })
  const draw = () => landscapeLayers(planScene({ prompt: 'a city at night' }), shape)
  expect(draw()).toEqual(draw())
})

test('music has the requested duration, starts and ends in silence, and is not silent', () => {
  const music = composeMusic({ seed: 'x', mood: 'bright' }, 1.5)
  expect(music.length).toBe(1.5 * 48_000 * 4)
  const samples = new Int16Array(music.buffer, music.byteOffset, music.length / 2)
  expect(Math.abs(samples[0]!)).toBeLessThan(50)
  expect(Math.abs(samples.at(-1)!)).toBeLessThan(50)
  expect(samples.some((sample) => sample > 2000)).toBe(true)
})

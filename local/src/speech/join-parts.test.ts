import { expect, test } from 'vitest'

import { continued, softestPlace } from './join-parts.ts'

const rate = 24_000

/** A tone that is soft around each of the given seconds. */
function tone(seconds: number, level: number, ...soft: number[]): Float32Array {
  return Float32Array.from({ length: seconds * rate }, (_, place) => {
    const isSoft = soft.some((second) => Math.abs(place / rate - second) < 0.02)
    return Math.sin((2 * Math.PI * 200 * place) / rate) * level * (isSoft ? 0.01 : 1)
  })
}

function levelAt(sound: Float32Array, seconds: number): number {
  const part = sound.subarray(Math.round((seconds - 0.025) * rate), Math.round((seconds + 0.025) * rate))
  return Math.sqrt(part.reduce((sum, value) => sum + value * value, 0) / part.length)
}

test('parts are joined where the voice is softest', () => {
  const place = softestPlace(tone(2, 0.3, 0.5, 1.5), 1.1 * rate, 1.9 * rate)
  expect(place / rate).toBeGreaterThan(1.47)
  expect(place / rate).toBeLessThan(1.52)
})

test.each([0.15, 0.3, 0.6])('a part of level %f continues at the level of the previous part', (level) => {
  const before = tone(1, 0.3)
  // The same sound from half a second on, used from 0.8 s on.
  const after = tone(2, level)
  const rest = continued(before, 0.8 * rate, after, 0.3 * rate)
  expect(rest).toHaveLength(1.7 * rate)
  const whole = Float32Array.from([...before.subarray(0, 0.8 * rate), ...rest])
  expect(levelAt(whole, 0.83) / levelAt(whole, 0.77)).toBeGreaterThan(0.9)
  expect(levelAt(whole, 0.83) / levelAt(whole, 0.77)).toBeLessThan(1.1)
  // At its end it has its original level.
  expect(levelAt(whole, 2.4) / (level / Math.SQRT2)).toBeGreaterThan(0.9)
  expect(levelAt(whole, 2.4) / (level / Math.SQRT2)).toBeLessThan(1.1)
  const steps = whole.slice(1).map((value, place) => Math.abs(value - whole[place]!))
  expect(Math.max(...steps)).toBeLessThan(0.05)
})

import { expect, test } from 'vitest'

import { mixSound } from './sound.ts'

function stereo(frames: number, value: number): Buffer {
  return Buffer.from(new Int16Array(frames * 2).fill(value).buffer)
}

test('the source sound loops with the film and is mixed with the music', () => {
  const music = stereo(48_000, 0)
  const mixed = mixSound(music, stereo(12_000, 10_000), 0.5)
  expect(mixed.length).toBe(music.length)
  const at = (seconds: number) => mixed.readInt16LE(Math.round(seconds * 48_000) * 4)
  expect(at(0.1)).toBeGreaterThan(7000)
  // The film is half a second long and its sound a quarter, so there is a pause before the loop.
  expect(at(0.4)).toBe(0)
  expect(at(0.6)).toBeGreaterThan(7000)
})

test('a silent film gets only the music', () => {
  const music = stereo(100, 5)
  expect(mixSound(music, Buffer.alloc(0), 1)).toBe(music)
})

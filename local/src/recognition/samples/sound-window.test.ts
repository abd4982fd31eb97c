import fc from 'fast-check'
import { expect, test } from 'vitest'

import { nextWindow, type SoundWindow } from './sound-window.ts'
import type { Region } from './speech-gate.ts'

const { signal } = new AbortController()

async function windowsOf(regions: Region[], seconds: number): Promise<SoundWindow[]> {
  const windows: SoundWindow[] = []
  const gate = { regions, listen: () => Promise.resolve() }
  for (let position = 0; position < seconds; position = windows.at(-1)!.end) {
    windows.push(await nextWindow(gate, position, seconds, 30, signal))
  }
  return windows
}

test('a window ends in its last pause', async () => {
  const regions = [
    { start: 1, end: 12 },
    { start: 12.5, end: 24 },
    { start: 24.4, end: 40 },
  ]
  const windows = await windowsOf(regions, 45)
  expect(windows.map(({ start, end }) => [start, end])).toEqual([
    [0.7, 24.2],
    [24.2, 40.3],
    [40.3, 45],
  ])
  expect(windows[2]!.speech).toEqual([])
})

test('windows of at most 30 s contain all speech exactly once', async () => {
  const gaps = fc.array(
    fc.tuple(fc.double({ min: 0.3, max: 50, noNaN: true }), fc.double({ min: 0.1, max: 70, noNaN: true })),
    {
      maxLength: 12,
    },
  )
  await fc.assert(
    fc.asyncProperty(gaps, async (parts) => {
      let at = 0
      const regions = parts.map(([gap, length]) => ({ start: at + gap, end: (at += gap + length) }))
      const windows = await windowsOf(regions, at + 1)
      let speechSeconds = 0
      for (const [index, window] of windows.entries()) {
        expect(window.end - window.start).toBeLessThanOrEqual(30 + 1e-9)
        expect(window.start).toBeGreaterThanOrEqual(windows[index - 1]?.end ?? 0)
        for (const { start, end } of window.speech) speechSeconds += end - start
      }
      expect(speechSeconds).toBeCloseTo(
        parts.reduce((sum, [, length]) => sum + length, 0),
        6,
      )
    }),
    { numRuns: 200 },
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { mayRedirect, rangeOf } from './send-file.ts'

const size = fc.integer({ min: 1, max: 1_000_000 })

test('a range is within the file for any header', () => {
  const header = fc.oneof(
    fc.string(),
    fc.tuple(fc.nat(), fc.nat()).map(([first, last]) => `bytes=${first}-${last}`),
    fc.nat().map((first) => `bytes=${first}-`),
    fc.nat().map((last) => `bytes=-${last}`),
  )
  fc.assert(
    fc.property(header, size, (text, sizeBytes) => {
      const range = rangeOf(text, sizeBytes)
      if (range === undefined || range === null) return
      expect(range.start).toBeGreaterThanOrEqual(0)
      expect(range.end).toBeGreaterThanOrEqual(range.start)
      expect(range.end).toBeLessThan(sizeBytes)
    }),
  )
})

test('only content that a browser takes for nothing else is sent by the store itself', () => {
  for (const type of ['video/mp4', 'video/webm', 'audio/x-wav', 'image/png', 'image/jpeg', 'image/webp'])
    expect({ type, may: mayRedirect(type) }).toEqual({ type, may: true })
  for (const type of [
    'text/html',
    'image/svg+xml',
    'application/octet-stream',
    '',
    'video/mp4; charset=x',
    'text/vtt',
  ])
    expect({ type, may: mayRedirect(type) }).toEqual({ type, may: false })
})

test('an empty file has no satisfiable range', () => {
  expect(rangeOf('bytes=0-', 0)).toBeNull()
  expect(rangeOf('bytes=-1', 0)).toBeNull()
})

import { speechFormats } from '@kinora/contract/operations/audio'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { shareSent } from './speech-share.ts'

const speech = fc.record({
  input: fc.string({ minLength: 1, maxLength: 4096, unit: 'grapheme' }),
  speed: fc.double({ min: 0.25, max: 4, noNaN: true }),
  format: fc.constantFrom(...speechFormats),
})

test('a share is a multiple of a tenth, grows with the bytes sent, starts at 0 and ends at 1', () => {
  fc.assert(
    fc.property(speech, fc.nat(10_000_000), fc.nat(10_000_000), (order, sent, more) => {
      const share = shareSent(order, sent)
      expect(share * 10).toBeCloseTo(Math.round(share * 10), 9)
      expect(share).toBeLessThanOrEqual(1)
      expect(share > 0).toBe(sent > 0)
      expect(shareSent(order, sent + more)).toBeGreaterThanOrEqual(share)
    }),
  )
})

test('the estimate for a minute of text is a minute, in Latin and in CJK scripts', () => {
  const minuteOfPcm = 60 * 48_000
  const letters = { input: 'a'.repeat(900), speed: 1, format: 'pcm' as const }
  expect(shareSent(letters, minuteOfPcm)).toBe(1)
  expect(shareSent(letters, minuteOfPcm / 2)).toBe(0.5)
  expect(shareSent({ ...letters, speed: 2 }, minuteOfPcm / 2)).toBe(1)
  expect(shareSent({ ...letters, input: '語'.repeat(300) }, minuteOfPcm / 2)).toBe(0.5)
})

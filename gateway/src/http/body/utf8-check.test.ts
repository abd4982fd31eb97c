import { isUtf8 } from 'node:buffer'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { createUtf8Check } from './utf8-check.ts'

const isValid = (chunks: Buffer[]): boolean => {
  const check = createUtf8Check()
  try {
    for (const chunk of chunks) check.take(chunk)
    check.end()
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_request' })
    return false
  }
}

/** Every way to split bytes into at most three chunks. */
const splits = (bytes: Buffer): Buffer[][] =>
  Array.from({ length: bytes.length + 1 }, (_, first) => first).flatMap((first) =>
    Array.from({ length: bytes.length + 1 - first }, (_, more) => [
      bytes.subarray(0, first),
      bytes.subarray(first, first + more),
      bytes.subarray(first + more),
    ]),
  )

const bytesNearBorders = fc.constantFrom(
  ...[0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf],
  ...[0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
)

test('bytes are valid exactly if they are valid as a whole, wherever they are split', () => {
  const sequence = fc.oneof(
    fc.array(bytesNearBorders, { maxLength: 8 }).map((each) => Buffer.from(each)),
    fc.string({ unit: 'binary', maxLength: 6 }).map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(sequence, (bytes) => {
      for (const chunks of splits(bytes)) expect(isValid(chunks)).toBe(isUtf8(bytes))
      expect(isValid([...bytes].map((byte) => Buffer.from([byte])))).toBe(isUtf8(bytes))
    }),
    { numRuns: 1_000 },
  )
})

test('every pair and every sequence of three bytes near a border is judged like the whole', () => {
  const border = [0x41, 0x80, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5]
  for (const first of border) {
    for (const second of border) {
      for (const third of border) {
        for (const bytes of [Buffer.from([first, second]), Buffer.from([first, second, third])]) {
          for (const chunks of splits(bytes)) expect(isValid(chunks)).toBe(isUtf8(bytes))
        }
      }
    }
  }
})

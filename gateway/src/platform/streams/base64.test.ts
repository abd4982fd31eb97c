import { randomBytes } from 'node:crypto'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { base64Length, decodeBase64, encodeBase64, NotBase64 } from './base64.ts'

async function* cut(bytes: Buffer, size: number) {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const all = async (pieces: AsyncGenerator<Buffer>) => {
  const found: Buffer[] = []
  for await (const piece of pieces) found.push(piece)
  return Buffer.concat(found)
}

test('decoding reverses encoding, wherever the text is split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 200 }),
      fc.integer({ min: 1, max: 50 }),
      fc.constantFrom('base64', 'base64url'),
      async (given, size, alphabet) => {
        const bytes = Buffer.from(given)
        const encoded = await all(encodeBase64(cut(bytes, size)))
        expect(encoded.toString()).toBe(bytes.toString('base64'))
        expect(encoded.length).toBe(base64Length(bytes.length))
        const text = Buffer.from(bytes.toString(alphabet as 'base64'))
        expect(await all(decodeBase64(cut(text, size)))).toEqual(bytes)
      },
    ),
  )
})

test('long texts are decoded, and an error in their middle is found', async () => {
  const bytes = randomBytes(1_000_001)
  const text = Buffer.from(bytes.toString('base64'))
  expect(await all(encodeBase64(cut(bytes, 300_000)))).toEqual(text)
  expect(await all(decodeBase64(cut(text, 300_001)))).toEqual(bytes)
  for (const place of [0, 49_152, 700_000]) {
    const spoilt = Buffer.from(text)
    spoilt[place] = 0x0a
    await expect(all(decodeBase64(cut(spoilt, 300_001)))).rejects.toBeInstanceOf(NotBase64)
  }
})

test.each([
  'Q',
  'QUJD RA==',
  'QUJD\n',
  'QQ=Q',
  'QQ===',
  '=',
  'QUJD=',
  'QUJDé',
  'QUJD*AAA',
  'data:audio/wav;base64,QUJD',
])('%j is no base64, wherever it is cut', async (text) => {
  for (let size = 1; size <= text.length + 1; size += 1) {
    await expect(all(decodeBase64(cut(Buffer.from(text), size)))).rejects.toBeInstanceOf(NotBase64)
  }
})

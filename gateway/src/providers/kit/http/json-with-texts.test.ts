import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

import { expect, test } from 'vitest'

import { jsonWithTexts } from './json-with-texts.ts'
import { UnreadablePart } from './multipart.ts'

const inserted = (content: string, sizeBytes = content.length) => ({
  sizeBytes,
  open: async () => Readable.from([Buffer.from(content.slice(0, 3)), Buffer.from(content.slice(3))]),
})

test('texts are in their places, and the length is known before they are read', async () => {
  const { lengthBytes, stream, contentType } = jsonWithTexts((insert) => ({
    name: 'é"\\',
    first: insert(inserted('QUJDRA==')),
    list: [insert(inserted('QUJD')), { deep: insert(inserted('')) }],
  }))
  const sent = await text(stream)
  expect(contentType).toBe('application/json')
  expect(lengthBytes).toBe(Buffer.byteLength(sent))
  expect(JSON.parse(sent)).toEqual({ name: 'é"\\', first: 'QUJDRA==', list: ['QUJD', { deep: '' }] })
})

test('a text of another length than announced ends the body', async () => {
  for (const sizeBytes of [3, 5]) {
    const { stream } = jsonWithTexts((insert) => [insert(inserted('QUJD', sizeBytes))])
    await expect(text(stream)).rejects.toBeInstanceOf(UnreadablePart)
  }
})

import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

import { expect, test } from 'vitest'

import { base64Of, dataUriOf } from './image-text.ts'

test.each([0, 1, 2, 3, 1_000_001])(
  'an image of %d bytes has the announced length as text',
  async (sizeBytes) => {
    const bytes = Buffer.alloc(sizeBytes, 'abcdefg')
    const image = {
      contentType: 'image/png',
      sizeBytes,
      open: async () => Readable.from([bytes.subarray(0, sizeBytes / 2), bytes.subarray(sizeBytes / 2)]),
    }
    const inBase64 = base64Of(image)
    expect(await text(await inBase64.open())).toBe(bytes.toString('base64'))
    expect(inBase64.sizeBytes).toBe(bytes.toString('base64').length)
    const asUri = dataUriOf(image)
    expect(await text(await asUri.open())).toBe(`data:image/png;base64,${bytes.toString('base64')}`)
    expect(asUri.sizeBytes).toBe(`data:image/png;base64,${bytes.toString('base64')}`.length)
  },
)

import { Readable } from 'node:stream'

import { base64Length, encodeBase64 } from '../../../platform/streams/base64.ts'
import type { ReferenceFile } from '../../port/video.ts'
import type { InsertedText } from '../http/json-with-texts.ts'

/** An image as base64, encoded while it is read. */
export function base64Of(image: ReferenceFile): InsertedText {
  return {
    sizeBytes: base64Length(image.sizeBytes),
    open: async () => Readable.from(encodeBase64(await image.open()), { objectMode: false }),
  }
}

/** An image as a data URI. */
export function dataUriOf(image: ReferenceFile): InsertedText {
  const head = Buffer.from(`data:${image.contentType};base64,`)
  async function* write(): AsyncGenerator<Buffer> {
    yield head
    yield* encodeBase64(await image.open())
  }
  return {
    sizeBytes: head.length + base64Length(image.sizeBytes),
    open: async () => Readable.from(write(), { objectMode: false }),
  }
}

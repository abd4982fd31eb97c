import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'

import { contentOf, type StreamedBody } from './multipart.ts'

/** A long text that needs no escaping in JSON. It is streamed and never held in memory as a whole. */
export interface InsertedText {
  sizeBytes: number
  open: () => Promise<Readable>
}

/** Builds a JSON body. `insert` returns a placeholder; the text itself is read while the body is sent. */
export function jsonWithTexts(build: (insert: (text: InsertedText) => string) => unknown): StreamedBody {
  const mark = randomUUID()
  const texts: InsertedText[] = []
  const value = build((text) => `${mark}${texts.push(text) - 1}.`)
  const between = JSON.stringify(value)
    .split(new RegExp(`${mark}(\\d+)\\.`))
    .map((chunk, index) => (index % 2 === 0 ? Buffer.from(chunk) : texts[Number(chunk)]))

  async function* write(): AsyncGenerator<Buffer> {
    for (const chunk of between) {
      if (Buffer.isBuffer(chunk)) yield chunk
      else if (chunk !== undefined) yield* contentOf({ name: 'text', ...chunk })
    }
  }

  return {
    contentType: 'application/json',
    lengthBytes: between.reduce(
      (sum, chunk) => sum + (Buffer.isBuffer(chunk) ? chunk.length : (chunk?.sizeBytes ?? 0)),
      0,
    ),
    stream: Readable.from(write(), { objectMode: false, highWaterMark: 64 * 1024 }),
  }
}

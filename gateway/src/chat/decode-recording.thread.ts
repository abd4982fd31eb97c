import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

import { base64Length, decodeBase64, NotBase64 } from '../platform/streams/base64.ts'
import { answerQuestions } from '../platform/worker-thread.ts'
import type { Decoded, DecodeQuestion } from './decode-recording.ts'

/** Detects characters of the base64url alphabet in a stream. */
async function* inspected(
  source: AsyncIterable<Buffer>,
  found: { isUrlAlphabet: boolean },
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    found.isUrlAlphabet ||= chunk.includes(0x2d) || chunk.includes(0x5f)
    yield chunk
  }
}

answerQuestions(async ({ from, to }: DecodeQuestion): Promise<Decoded> => {
  const { path, start, sizeBytes } = from
  const source = createReadStream(path, { start, end: start + sizeBytes - 1, highWaterMark: 256 * 1024 })
  const target = createWriteStream(to, { mode: 0o600 })
  const found = { isUrlAlphabet: false }
  try {
    await pipeline(decodeBase64(inspected(source, found)), target)
    const decodedBytes = target.bytesWritten
    return {
      sizeBytes: decodedBytes,
      isStandard: !found.isUrlAlphabet && sizeBytes === base64Length(decodedBytes),
    }
  } catch (error) {
    if (error instanceof NotBase64) return { sizeBytes: undefined, isStandard: false }
    throw error
  }
})

import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

import { decodeBase64, NotBase64 } from '../platform/base64.ts'
import { answerQuestions } from '../platform/side-thread.ts'
import type { Decoded, DecodeQuestion } from './decode-recording.ts'

answerQuestions(async ({ from, to }: DecodeQuestion): Promise<Decoded> => {
  const { path, start, sizeBytes } = from
  const source = createReadStream(path, { start, end: start + sizeBytes - 1, highWaterMark: 256 * 1024 })
  const target = createWriteStream(to, { mode: 0o600 })
  try {
    await pipeline(decodeBase64(source), target)
    return { sizeBytes: target.bytesWritten }
  } catch (error) {
    if (error instanceof NotBase64) return { sizeBytes: undefined }
    throw error
  }
})

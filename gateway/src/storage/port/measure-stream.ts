import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'

import { FileTooLarge } from './media-store.ts'

/** Passes a stream on while counting and hashing it. A stream that becomes too large fails. */
export const createMeasure = (
  sizeBytesMax: number,
): { stream: Transform; result: () => { sizeBytes: number; sha256: string } } => {
  const hash = createHash('sha256')
  let sizeBytes = 0
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length
      if (sizeBytes > sizeBytesMax) return done(new FileTooLarge(sizeBytesMax))
      hash.update(chunk)
      done(null, chunk)
    },
  })
  return { stream, result: () => ({ sizeBytes, sha256: hash.digest('hex') }) }
}

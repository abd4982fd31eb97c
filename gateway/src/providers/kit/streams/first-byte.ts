import type { Readable } from 'node:stream'

/** Waits for the first bytes, because until then a caller can still be told what went wrong. False where none came. */
export function firstByteOf(bytes: Readable): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (bytes.errored !== null) reject(bytes.errored)
    bytes.once('readable', () => resolve(bytes.readableLength > 0)).once('error', reject)
  })
}

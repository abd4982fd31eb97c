import type { Readable } from 'node:stream'

/** Waits for the first bytes, because until then an error can still be sent as a response. Returns false for an empty stream. */
export function hasFirstByte(bytes: Readable): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (bytes.errored !== null) reject(bytes.errored)
    bytes.once('readable', () => resolve(bytes.readableLength > 0)).once('error', reject)
  })
}

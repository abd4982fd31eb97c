import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** The SHA-256 of a stream, hexadecimal. */
export const hashStream = async (stream: Readable): Promise<string> => {
  const hash = createHash('sha256')
  await pipeline(stream, hash)
  return hash.digest('hex')
}

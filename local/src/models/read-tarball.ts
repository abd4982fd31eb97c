import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

import { extract } from 'tar-stream'

export interface TarballFile {
  path: string
  bytes: number
  /** Valid until the next file is requested. Read all of it or nothing. */
  content: AsyncIterable<Buffer>
}

/** Lists the regular files of a gzipped tar archive while it downloads. Only the current chunk is in memory. */
export async function* readTarball(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<TarballFile, void, undefined> {
  const archive = extract()
  let failure: Error | undefined
  archive.once('error', (error) => {
    failure = error
  })
  // A failure of any stream destroys the archive, so the loop below throws it.
  pipeline(Readable.from(chunks), createGunzip(), archive).catch(() => {})

  async function* contentOf(entry: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* entry
    } catch (error) {
      // An entry that was destroyed before its first read does not know the reason.
      throw failure ?? error
    }
  }

  for await (const entry of archive) {
    const { name, size, type } = entry.header
    if (type === 'file') {
      yield { path: name, bytes: size, content: contentOf(entry as AsyncIterable<Buffer>) }
    }
    // Skips the content of a file that the caller did not read.
    entry.resume()
  }
}

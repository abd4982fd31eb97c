/** Files of an archive: lines of JSON, compressed with gzip. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'

import type { ArchivedFile } from './archive-manifest.ts'

export type FileFigures = Omit<ArchivedFile, 'table' | 'file'>

const newline = 10

/** Passes bytes on, and computes their hash and the number of their lines. */
const createMeasure = () => {
  const hash = createHash('sha256')
  let lines = 0
  const stream = new Transform({
    transform: (chunk: Buffer, _, done) => {
      hash.update(chunk)
      for (const byte of chunk) if (byte === newline) lines += 1
      done(null, chunk)
    },
  })
  return { stream, sha256: () => hash.digest('hex'), lines: () => lines }
}

/** Writes the file to the disk, not only to the cache of the system. */
export const writeLines = async (
  path: string,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<FileFigures> => {
  const [content, compressed] = [createMeasure(), createMeasure()]
  const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true })
  await pipeline(
    Readable.from(lines, { objectMode: false }),
    content.stream,
    createGzip(),
    compressed.stream,
    file,
    {
      signal,
    },
  )
  return {
    rows: content.lines(),
    size_bytes: (await stat(path)).size,
    sha256: compressed.sha256(),
    content_sha256: content.sha256(),
  }
}

/** Reads a file back, as somebody who restores it would. */
export const measureFile = async (path: string, signal: AbortSignal): Promise<FileFigures> => {
  const [compressed, content] = [createMeasure(), createMeasure()]
  await pipeline(
    createReadStream(path),
    compressed.stream,
    createGunzip(),
    content.stream,
    async (chunks) => {
      for await (const _ of chunks);
    },
    { signal },
  )
  return {
    rows: content.lines(),
    size_bytes: (await stat(path)).size,
    sha256: compressed.sha256(),
    content_sha256: content.sha256(),
  }
}

/** Long texts of a JSON body, stored in one file per request instead of in memory. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'

import { bufferPassed } from '../../platform/streams/buffer-garbage.ts'
import { newSpoolPath } from '../../platform/streams/spool-path.ts'

/** One long text as UTF-8. It can be read any number of times until its request has completed. */
export interface SpooledText {
  sizeBytes: number
  /** False if the text has a lone surrogate, which reads as a replacement character. */
  isWellFormed: boolean
  /** Its position in the file, for a reader in another thread. */
  place: { path: string; start: number; sizeBytes: number }
  open: (start?: number, lengthMax?: number) => Readable
  /** Reads the whole text; only for texts of moderate size. */
  read: () => Promise<string>
}

/** A long text in a parsed body. It is not a string, so a reader that expects a short text refuses it. */
export class LongText {
  readonly spooled: SpooledText
  constructor(spooled: SpooledText) {
    this.spooled = spooled
  }
  /** Error messages quote the refused value. */
  toJSON(): string {
    return 'a long text'
  }
}

/** The spooled text that a value of a parsed body refers to; undefined for any other value. */
export const longTextOf = (value: unknown): SpooledText | undefined =>
  value instanceof LongText ? value.spooled : undefined

export interface TextSpool {
  /** Appends to the current text. */
  write: (bytes: Buffer) => Promise<void>
  /** Ends the current text; returns the placeholder for it. */
  endText: (isWellFormed: boolean) => string
  /** The text of a placeholder. */
  find: (value: unknown) => SpooledText | undefined
  /** Whether any text was written. */
  isUsed: () => boolean
  /** Ends writing; from here on texts can be read. */
  finish: () => Promise<void>
  discard: () => Promise<void>
}

const flushBytes = 512 * 1024

const writeAll = async (handle: FileHandle, bytes: Buffer): Promise<void> => {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done)
    done += bytesWritten
  }
}

export const createTextSpool = (
  directory: string,
  /** Counts bytes before they are written, or throws. */
  charge: (bytes: number) => Promise<void> | void = () => undefined,
): TextSpool => {
  /** Most bodies have no long text and need no names. */
  let names: { path: string; placeholder: string } | undefined
  const namesOfSpool = () =>
    (names ??= {
      path: newSpoolPath(directory),
      // Random, so that no text of a client can be mistaken for a placeholder.
      placeholder: `long-text-${randomUUID()}`,
    })
  const texts = new Map<string, SpooledText>()
  let file: Promise<FileHandle> | undefined
  let unwritten: Buffer[] = []
  let unwrittenBytes = 0
  let isClosed = false
  let writtenBytes = 0
  let textStart = 0

  const textAt = (start: number, end: number, isWellFormed: boolean): SpooledText => {
    const { path } = namesOfSpool()
    const openAt = (from = 0, lengthMax = end - start): Readable => {
      const [first, last] = [start + from, Math.min(end, start + from + lengthMax) - 1]
      if (first > last) return Readable.from([])
      const stream = createReadStream(path, { start: first, end: last, highWaterMark: 256 * 1024 })
      return stream.on('data', ({ length }) => bufferPassed(length)).pause()
    }
    return {
      sizeBytes: end - start,
      isWellFormed,
      place: { path, start, sizeBytes: end - start },
      open: openAt,
      read: async () => {
        const chunks: Buffer[] = []
        for await (const chunk of openAt() as AsyncIterable<Buffer>) chunks.push(chunk)
        return Buffer.concat(chunks).toString('utf8')
      },
    }
  }

  /** Few large writes are cheaper than many small ones, which cost a tick of the event loop each. */
  const flush = async () => {
    if (unwrittenBytes === 0) return
    const [buffers, sizeBytes] = [unwritten, unwrittenBytes]
    unwritten = []
    unwrittenBytes = 0
    file ??= open(namesOfSpool().path, 'wx', 0o600)
    const handle = await file
    const { bytesWritten } = await handle.writev(buffers)
    if (bytesWritten < sizeBytes) await writeAll(handle, Buffer.concat(buffers).subarray(bytesWritten))
  }

  const close = async () => {
    isClosed = true
    const opened = await file?.catch(() => undefined)
    await opened?.close().catch(() => undefined)
  }

  return {
    write: async (bytes) => {
      if (isClosed) throw new Error('the spool is closed')
      await charge(bytes.length)
      unwritten.push(bytes)
      unwrittenBytes += bytes.length
      writtenBytes += bytes.length
      if (unwrittenBytes >= flushBytes) await flush()
    },
    endText: (isWellFormed) => {
      const placeholder = `${namesOfSpool().placeholder}-${texts.size}`
      texts.set(placeholder, textAt(textStart, writtenBytes, isWellFormed))
      textStart = writtenBytes
      return placeholder
    },
    finish: async () => {
      await flush()
      await close()
    },
    isUsed: () => writtenBytes > 0 || texts.size > 0,
    find: (value) => (typeof value === 'string' ? texts.get(value) : undefined),
    discard: async () => {
      await close()
      if (file !== undefined) await unlink(namesOfSpool().path).catch(() => undefined)
    },
  }
}

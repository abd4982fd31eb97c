/** Long texts of a JSON body, kept in a file of their request instead of in memory. */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { bufferPassed } from '../../platform/streams/buffer-garbage.ts'

/** One long text as UTF-8, readable as often as needed until its request has been answered. */
export interface SpooledText {
  sizeBytes: number
  /** False where half of a surrogate pair was written; it reads as a replacement character. */
  isWellFormed: boolean
  /** Where it lies, for who reads it elsewhere. */
  place: { path: string; start: number; sizeBytes: number }
  open: (start?: number, lengthMax?: number) => Readable
  /** All of it at once; for texts that are known to be of a modest size. */
  read: () => Promise<string>
}

/** A long text as it stands in a parsed body. It is no string, so a reader that expects a short one refuses it. */
export class LongText {
  readonly spooled: SpooledText
  constructor(spooled: SpooledText) {
    this.spooled = spooled
  }
  /** Messages quote what they refuse. */
  toJSON(): string {
    return 'a long text'
  }
}

/** The spooled text that a value of a parsed body stands for; undefined for any other value. */
export const longTextOf = (value: unknown): SpooledText | undefined =>
  value instanceof LongText ? value.spooled : undefined

export interface TextSpool {
  /** Adds to the text under way. */
  write: (bytes: Buffer) => Promise<void>
  /** Ends the text under way, and answers what stands for it where it was. */
  endText: (isWellFormed: boolean) => string
  /** The text behind what stands for it. */
  find: (value: unknown) => SpooledText | undefined
  /** Nothing more will come; from here on texts can be read. */
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
  const path = join(directory, randomUUID())
  // Nobody can guess it, so no text of a caller is ever taken for one of these.
  const mark = `long-text-${randomUUID()}`
  const texts = new Map<string, SpooledText>()
  let file: Promise<FileHandle> | undefined
  let unwritten: Buffer[] = []
  let unwrittenBytes = 0
  let isClosed = false
  let writtenBytes = 0
  let textStart = 0

  const textAt = (start: number, end: number, isWellFormed: boolean): SpooledText => {
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

  /** Few large writes instead of many small ones: each costs a turn of its own, however short it is. */
  const flush = async () => {
    if (unwrittenBytes === 0) return
    const [buffers, sizeBytes] = [unwritten, unwrittenBytes]
    unwritten = []
    unwrittenBytes = 0
    file ??= open(path, 'wx', 0o600)
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
      const stand = `${mark}-${texts.size}`
      texts.set(stand, textAt(textStart, writtenBytes, isWellFormed))
      textStart = writtenBytes
      return stand
    },
    finish: async () => {
      await flush()
      await close()
    },
    find: (value) => (typeof value === 'string' ? texts.get(value) : undefined),
    discard: async () => {
      await close()
      if (file !== undefined) await unlink(path).catch(() => undefined)
    },
  }
}

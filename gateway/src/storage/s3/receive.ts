/**
 * Receives a result. It is written to the spool, from which programs check it, and its parts are uploaded while the rest arrives.
 * The upload becomes an object only when the result is kept. Parts are read from the file that was just written, which is still
 * in the memory of the system, so slow downloads hold no parts in the memory of this process.
 */
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'

import pLimit from 'p-limit'

import type { ReceivedFile, ReceiveOptions } from '../port/media-store.ts'
import type { Spool } from '../port/spool.ts'
import { writeHashed } from '../port/write-hashed.ts'
import type { S3Connection } from './s3-connection.ts'
import {
  createUploadRequests,
  partBytesFor,
  partsAtOnce,
  type UploadRequests,
  type UploadTarget,
} from './upload.ts'

/** Of all uploads of this process together. */
const partsInMemoryMax = 8

type Receive = (target: UploadTarget, source: Readable, options: ReceiveOptions) => Promise<ReceivedFile>

export const createReceiver = (connection: S3Connection, spool: Spool): Receive => {
  const takePlace = pLimit(partsInMemoryMax)
  const buffers: Buffer[] = []
  /** Reads a part into memory that is used again, because the garbage would be as large as the results. */
  const withPart = (
    file: FileHandle,
    { start, end }: { start: number; end: number },
    work: (bytes: Buffer) => Promise<void>,
  ): Promise<void> =>
    takePlace(async () => {
      const length = end - start
      const found = buffers.pop()
      const buffer = found !== undefined && found.length >= length ? found : Buffer.allocUnsafeSlow(length)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await file.read(buffer, filled, length - filled, start + filled)
        if (bytesRead === 0) throw new Error(`a file of the spool has less than ${end} bytes`)
        filled += bytesRead
      }
      await work(buffer.subarray(0, length))
      buffers.push(buffer)
    })

  /** Uploads the parts of a file that is still being written. */
  const createPartSender = (
    path: string,
    partBytes: number,
    requests: UploadRequests,
    stop: AbortController,
  ) => {
    const takeTurn = pLimit(partsAtOnce)
    const parts: Promise<void>[] = []
    let sent = 0
    let opening: Promise<FileHandle> | undefined
    const send = (start: number, end: number) => {
      const part = takeTurn(async () => {
        stop.signal.throwIfAborted()
        const file = await (opening ??= open(path))
        await withPart(file, { start, end }, (bytes) => requests.sendPart(bytes, start / partBytes + 1))
      })
      part.catch((error: unknown) => stop.abort(error))
      parts.push(part)
    }
    return {
      hasParts: () => parts.length > 0,
      /** Sends the parts that are complete. */
      advanceTo: (sizeBytes: number) => {
        // The last part is sent when the end is known, so that a small result is a single request.
        for (; sizeBytes - sent > partBytes; sent += partBytes) send(sent, sent + partBytes)
      },
      finish: async (sizeBytes: number) => {
        send(sent, sizeBytes)
        await Promise.all(parts)
      },
      close: async () => {
        await Promise.allSettled(parts)
        await (await opening?.catch(() => undefined))?.close()
      },
    }
  }

  return async (target, source, { sizeBytesMax, signal, onChunk }) => {
    const path = spool.newPath()
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const stop = new AbortController()
    const stopSending = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', stopSending)
    const requests = createUploadRequests(connection, target, stop.signal)
    const parts = createPartSender(path, partBytesFor(sizeBytesMax), requests, stop)
    const release = async () => {
      signal?.removeEventListener('abort', stopSending)
      await parts.close()
      await rm(path, { force: true })
    }
    const discard = async () => {
      stop.abort(new Error('the result is not kept'))
      await release()
      await requests.abort()
    }
    // A result that cannot be stored is not downloaded to its end.
    stop.signal.addEventListener('abort', () => source.destroy(stop.signal.reason as Error))
    try {
      const { sizeBytes, sha256 } = await writeHashed(path, source, {
        ...{ sizeBytesMax, signal, onChunk },
        onWritten: parts.advanceTo,
      })
      if (parts.hasParts()) await parts.finish(sizeBytes)
      return {
        ...{ path, sizeBytes, sha256, discard },
        keep: async ({ signal: until } = {}) => {
          try {
            if (parts.hasParts()) await requests.complete(until)
            else {
              await using file = await open(path)
              await withPart(file, { start: 0, end: sizeBytes }, (bytes) =>
                requests.putWhole(bytes, sha256, until),
              )
            }
          } catch (error) {
            await discard()
            throw error
          }
          await release()
        },
      }
    } catch (error) {
      await discard()
      throw error
    }
  }
}

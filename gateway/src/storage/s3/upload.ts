/**
 * Uploads a stream. A small one is one request; a larger one has parts, of which a few are in memory at a time. An upload that
 * fails is aborted after its last part has ended, because a part that arrives later would stay in the bucket.
 */
import type { Readable } from 'node:stream'

import type { CompletedPart, ListMultipartUploadsCommandInput } from '@aws-sdk/client-s3'

import { nameOf, type S3Connection } from './s3-connection.ts'

const partBytesMin = 8 * 1_048_576
const partsMax = 10_000
export const partsAtOnce = 2
/** A slower connection is taken for broken. */
const bytesPerMsMin = 64
/** S3 may assemble the parts of a large object for minutes. */
const completeTimeoutMs = 300_000

/** The memory of parts. It is used again for later parts, because the garbage of a large upload would be as large as the object. */
const createPartBuffers = (partBytes: number) => {
  const free: Buffer[] = []
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(partBytes),
    giveBack: (buffer: Buffer) => free.push(buffer),
  }
}

interface Part {
  buffer: Buffer
  /** The bytes of the buffer that belong to the part. */
  length: number
  isLast: boolean
}

/** Cuts a stream into parts of equal size; the last one is shorter, and may be empty. */
async function* cutParts(source: Readable, takeBuffer: () => Buffer): AsyncGenerator<Part> {
  let buffer = takeBuffer()
  let length = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length;) {
      if (length === buffer.length) {
        yield { buffer, length, isLast: false }
        buffer = takeBuffer()
        length = 0
      }
      const copied = chunk.copy(buffer, length, start)
      length += copied
      start += copied
    }
  }
  yield { buffer, length, isLast: true }
}

/** What the object has besides its content. */
export interface UploadTarget {
  Bucket: string
  Key: string
  Metadata?: Record<string, string>
  ServerSideEncryption?: 'AES256' | 'aws:kms'
  SSEKMSKeyId?: string
}

export interface UploadOptions {
  sizeBytesMax: number
  signal?: AbortSignal | undefined
}

/** The size of all parts but the last, for objects of at most this size. */
export const partBytesFor = (sizeBytesMax: number): number =>
  Math.max(partBytesMin, Number.isFinite(sizeBytesMax) ? Math.ceil(sizeBytesMax / partsMax) : 0)

/** The requests of one upload. They end with the signal. */
export interface UploadRequests {
  /** Stores a small object with one request. Its hash is computed if it is not given. */
  putWhole: (bytes: Buffer, sha256?: string, signal?: AbortSignal) => Promise<void>
  /** Parts have numbers from 1. */
  sendPart: (bytes: Buffer, number: number) => Promise<void>
  /** Makes the parts an object. */
  complete: (signal?: AbortSignal) => Promise<void>
  /** Removes the parts. No request may be under way. */
  abort: () => Promise<void>
}

export const createUploadRequests = (
  { sdk, client, call, limits, noteHash }: S3Connection,
  target: UploadTarget,
  stop: AbortSignal,
): UploadRequests => {
  const { Bucket, Key } = target
  const parts: CompletedPart[] = []
  let beginning: Promise<string | undefined> | undefined
  let sizeBytes = 0

  const limitFor = (bytes: Buffer) => limits.responseMs + bytes.length / bytesPerMsMin
  /** Not aborted while it is under way, because the upload would exist and nobody would know its id. */
  const begin = async () => {
    try {
      const { UploadId } = await call((abortSignal) => {
        stop.throwIfAborted()
        const command = new sdk.CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: 'CRC32' })
        return client.send(command, { abortSignal })
      })
      return UploadId
    } catch (error) {
      stop.throwIfAborted()
      throw error
    }
  }
  const isComplete = async (signal: AbortSignal) => {
    const head = new sdk.HeadObjectCommand({ Bucket, Key })
    const { ContentLength } = await call((abortSignal) => client.send(head, { abortSignal }), { signal })
    return ContentLength === sizeBytes
  }
  return {
    putWhole: async (Body, sha256, signal = stop) => {
      if (sha256 !== undefined) noteHash(Body, sha256)
      const command = () => new sdk.PutObjectCommand({ ...target, Body })
      await call((abortSignal) => client.send(command(), { abortSignal }), {
        signal,
        timeoutMs: limitFor(Body),
      })
    },
    sendPart: async (Body, PartNumber) => {
      const UploadId = await (beginning ??= begin())
      const part = { Bucket, Key, UploadId, PartNumber, ChecksumAlgorithm: 'CRC32', Body } as const
      const { ETag, ChecksumCRC32 } = await call(
        (abortSignal) => client.send(new sdk.UploadPartCommand(part), { abortSignal }),
        { signal: stop, timeoutMs: limitFor(Body) },
      )
      sizeBytes += Body.length
      parts[PartNumber - 1] = { PartNumber, ETag, ...(ChecksumCRC32 !== undefined && { ChecksumCRC32 }) }
    },
    complete: async (signal = stop) => {
      const UploadId = await beginning
      let attempts = 0
      try {
        await call(
          (abortSignal) => {
            attempts += 1
            const whole = { Bucket, Key, UploadId, MultipartUpload: { Parts: parts } }
            return client.send(new sdk.CompleteMultipartUploadCommand(whole), { abortSignal })
          },
          { signal, timeoutMs: completeTimeoutMs },
        )
      } catch (error) {
        // If the response of an earlier attempt was lost, that attempt has completed the upload.
        if (attempts === 1 || nameOf(error) !== 'NoSuchUpload' || !(await isComplete(signal))) throw error
      }
    },
    abort: async () => {
      const UploadId = await beginning?.catch(() => undefined)
      if (UploadId === undefined) return
      const command = new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })
      // If this fails too, a sweep or the lifecycle rule of the bucket removes the parts.
      await call((abortSignal) => client.send(command, { abortSignal })).catch(() => undefined)
    },
  }
}

/**
 * Aborts the uploads below a prefix that began before a time, because their process has died. Returns how many. The bucket may
 * have other users, whose keys are not `isOwn`.
 */
export const abortUnfinished = async (
  { sdk, client, call }: S3Connection,
  { Bucket, Prefix, isOwn }: { Bucket: string; Prefix: string; isOwn: (objectKey: string) => boolean },
  startedBefore: Date,
): Promise<number> => {
  const page: ListMultipartUploadsCommandInput = { Bucket, Prefix }
  let count = 0
  for (let hasMore = true; hasMore;) {
    const listed = await call((abortSignal) =>
      client.send(new sdk.ListMultipartUploadsCommand(page), { abortSignal }),
    )
    for (const { Key = '', UploadId, Initiated } of listed.Uploads ?? []) {
      if (Initiated === undefined || Initiated >= startedBefore || !isOwn(Key)) continue
      const command = new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId })
      try {
        await call((abortSignal) => client.send(command, { abortSignal }))
        count += 1
      } catch (error) {
        // It has ended since it was listed.
        if (nameOf(error) !== 'NoSuchUpload') throw error
      }
    }
    page.KeyMarker = listed.NextKeyMarker
    page.UploadIdMarker = listed.NextUploadIdMarker
    hasMore = listed.IsTruncated === true
  }
  return count
}

export const upload = async (
  connection: S3Connection,
  target: UploadTarget,
  source: Readable,
  { sizeBytesMax, signal }: UploadOptions,
): Promise<void> => {
  const failed = new AbortController()
  const stop = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal])
  // A source that waits for its own data must not delay an abort.
  const endSource = () => source.destroy(stop.reason as Error)
  stop.addEventListener('abort', endSource)
  const requests = createUploadRequests(connection, target, stop)
  const parts: Promise<void>[] = []

  try {
    stop.throwIfAborted()
    const buffers = createPartBuffers(partBytesFor(sizeBytesMax))
    for await (const { buffer, length, isLast } of cutParts(source, buffers.take)) {
      stop.throwIfAborted()
      const bytes = buffer.subarray(0, length)
      if (isLast && parts.length === 0) {
        await requests.putWhole(bytes)
        return
      }
      const part = requests.sendPart(bytes, parts.length + 1)
      part.then(
        () => buffers.giveBack(buffer),
        // The loop may be waiting for the source when a part fails.
        (error: unknown) => failed.abort(error),
      )
      parts.push(part)
      await parts.at(-partsAtOnce)
    }
    await Promise.all(parts)
    await requests.complete()
  } catch (error) {
    failed.abort(error)
    await Promise.allSettled(parts)
    await requests.abort()
    throw error
  } finally {
    stop.removeEventListener('abort', endSource)
    source.destroy()
  }
}

/**
 * Uploads a stream. A small one is one request; a larger one has parts, of which a few are in memory at a time. An upload that
 * fails is aborted after its last part has ended, because a part that arrives later would stay in the bucket.
 */
import type { Readable } from 'node:stream'

import type { CompletedPart } from '@aws-sdk/client-s3'

import { nameOf, type S3Connection } from './s3-connection.ts'

const partBytesMin = 8 * 1_048_576
const partsMax = 10_000
const partsAtOnce = 2
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

export const upload = async (
  { sdk, client, call, limits }: S3Connection,
  target: UploadTarget,
  source: Readable,
  { sizeBytesMax, signal }: UploadOptions,
): Promise<void> => {
  const { Bucket, Key } = target
  const failed = new AbortController()
  const stop = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal])
  // A source that waits for its own data must not delay an abort.
  const endSource = () => source.destroy(stop.reason as Error)
  stop.addEventListener('abort', endSource)
  let uploadId: string | undefined
  const parts: Promise<CompletedPart>[] = []
  let sizeBytes = 0

  const limitFor = (bytes: Buffer) => limits.responseMs + bytes.length / bytesPerMsMin
  const begin = async () => {
    const command = () => new sdk.CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: 'CRC32' })
    const { UploadId } = await call((abortSignal) => client.send(command(), { abortSignal }), {
      signal: stop,
    })
    return UploadId
  }
  const sendPart = async (bytes: Buffer, PartNumber: number): Promise<CompletedPart> => {
    const part = { Bucket, Key, UploadId: uploadId, PartNumber, ChecksumAlgorithm: 'CRC32' } as const
    const { ETag, ChecksumCRC32 } = await call(
      (abortSignal) => client.send(new sdk.UploadPartCommand({ ...part, Body: bytes }), { abortSignal }),
      { signal: stop, timeoutMs: limitFor(bytes) },
    )
    return { PartNumber, ETag, ...(ChecksumCRC32 !== undefined && { ChecksumCRC32 }) }
  }
  const isComplete = async () => {
    const head = new sdk.HeadObjectCommand({ Bucket, Key })
    const { ContentLength } = await call((abortSignal) => client.send(head, { abortSignal }), {
      signal: stop,
    })
    return ContentLength === sizeBytes
  }
  const complete = async (Parts: CompletedPart[]) => {
    let attempts = 0
    try {
      await call(
        (abortSignal) => {
          attempts += 1
          const whole = { Bucket, Key, UploadId: uploadId, MultipartUpload: { Parts } }
          return client.send(new sdk.CompleteMultipartUploadCommand(whole), { abortSignal })
        },
        { signal: stop, timeoutMs: completeTimeoutMs },
      )
    } catch (error) {
      // If the response of an earlier attempt was lost, that attempt has completed the upload.
      if (attempts === 1 || nameOf(error) !== 'NoSuchUpload' || !(await isComplete())) throw error
    }
  }
  const putWhole = (Body: Buffer) =>
    call((abortSignal) => client.send(new sdk.PutObjectCommand({ ...target, Body }), { abortSignal }), {
      signal: stop,
      timeoutMs: limitFor(Body),
    })
  const abort = async () => {
    await Promise.allSettled(parts)
    if (uploadId === undefined) return
    const command = new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId: uploadId })
    // If this fails too, the lifecycle rule of the bucket removes the parts.
    await call((abortSignal) => client.send(command, { abortSignal })).catch(() => undefined)
  }

  try {
    stop.throwIfAborted()
    const partBytes = Math.max(
      partBytesMin,
      Number.isFinite(sizeBytesMax) ? Math.ceil(sizeBytesMax / partsMax) : 0,
    )
    const buffers = createPartBuffers(partBytes)
    for await (const { buffer, length, isLast } of cutParts(source, buffers.take)) {
      stop.throwIfAborted()
      const bytes = buffer.subarray(0, length)
      if (isLast && uploadId === undefined) {
        await putWhole(bytes)
        return
      }
      uploadId ??= await begin()
      sizeBytes += bytes.length
      const part = sendPart(bytes, parts.length + 1)
      part.then(
        () => buffers.giveBack(buffer),
        // The loop may be waiting for the source when a part fails.
        (error: unknown) => failed.abort(error),
      )
      parts.push(part)
      await parts.at(-partsAtOnce)
    }
    await complete(await Promise.all(parts))
  } catch (error) {
    failed.abort(error)
    await abort()
    throw error
  } finally {
    stop.removeEventListener('abort', endSource)
    source.destroy()
  }
}

/**
 * Stores media in an S3 bucket. The key `videos/2026-01-01/x.mp4` is the object `<prefix>videos/3f/2026-01-01/x.mp4`: two digits
 * of its hash spread the objects of a folder over 256 prefixes, because S3 limits the requests per prefix.
 */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { createMeasure } from '../port/measure-stream.ts'
import {
  MediaNotFound,
  MediaNotRemoved,
  MediaStoreUnavailable,
  type ByteRange,
  type MediaStore,
} from '../port/media-store.ts'
import type { Spool } from '../port/spool.ts'
import type { Bucket } from './bucket-url.ts'
import { createReceiver } from './receive.ts'
import { createResumingStream } from './resuming-stream.ts'
import {
  attempt,
  connectS3,
  defaultLimits,
  isTemporary,
  nameOf,
  reasonOf,
  statusOf,
  type CallOptions,
} from './s3-connection.ts'
import { abortUnfinished, upload, type UploadOptions } from './upload.ts'

const removalsPerRequest = 1_000
const readBytes = 1_048_576
/** Shorter than the time limit of a health check. */
const probeTimeoutMs = 1_500
const writtenAtName = 'written-at'

const spreadOf = (key: string) => createHash('sha256').update(key).digest('hex').slice(0, 2)

/** `folder/rest` is `folder/3f/rest`. */
const toObjectKey = (prefix: string, key: string): string => {
  const slash = key.indexOf('/')
  return `${prefix}${key.slice(0, slash)}/${spreadOf(key)}/${key.slice(slash + 1)}`
}

const toKey = (prefix: string, objectKey: string): string => {
  const [folder, , ...rest] = objectKey.slice(prefix.length).split('/')
  return [folder, ...rest].join('/')
}

const sizeInRange = (contentRange: string | undefined): number => Number(contentRange?.split('/')[1])

/** The response to a request for the bucket itself has no text. */
const problemOfBucket = (error: unknown): string => {
  const status = statusOf(error)
  if (status === 404) return 'it does not exist'
  if (status === 403) return 'access is denied; check the credentials, and the rights of their user'
  return status === undefined ? reasonOf(error) : `it responds with status ${status}`
}

const tooShort = (key: string, sizeBytes: number) =>
  new Error(`${key} has ${sizeBytes} bytes, and more were expected`)

export const createS3MediaStore = async (
  bucket: Bucket,
  spool: Spool,
  limits = defaultLimits,
): Promise<MediaStore & { assertUsable: (setting: string) => Promise<void> }> => {
  const connection = await connectS3(bucket, limits)
  const { sdk, client, call } = connection
  const { name: Bucket, prefix, encryption } = bucket
  const locate = (key: string) => ({ Bucket, Key: toObjectKey(prefix, key) })
  const isOwn = (objectKey: string) => toObjectKey(prefix, toKey(prefix, objectKey)) === objectKey
  const encrypted = encryption && {
    ServerSideEncryption: encryption.algorithm,
    ...(encryption.kmsKeyId !== undefined && { SSEKMSKeyId: encryption.kmsKeyId }),
  }

  const find: MediaStore['find'] = async (key, { signal } = {}) => {
    try {
      const { ContentLength, LastModified, Metadata } = await call(
        (abortSignal) => client.send(new sdk.HeadObjectCommand(locate(key)), { abortSignal }),
        { signal },
      )
      const writtenAt = Metadata?.[writtenAtName]
      return {
        sizeBytes: ContentLength ?? 0,
        writtenAt: writtenAt === undefined ? (LastModified ?? new Date(0)) : new Date(writtenAt),
      }
    } catch (error) {
      if (statusOf(error) === 404) return undefined
      throw error
    }
  }

  /** Why the last object could not be written. A bucket that is full can still be read. */
  let writeProblem: string | undefined
  const noteProblem = <Result>(write: Promise<Result>): Promise<Result> =>
    write.catch((error: unknown) => {
      if (error instanceof MediaStoreUnavailable) writeProblem = error.detail
      throw error
    })
  const noteWritten = async (write: Promise<void>): Promise<void> => {
    await noteProblem(write)
    writeProblem = undefined
  }
  const putStream = (key: string, source: Readable, options: UploadOptions, writtenAt?: Date) => {
    const target = {
      ...locate(key),
      ...encrypted,
      ...(writtenAt !== undefined && { Metadata: { [writtenAtName]: writtenAt.toISOString() } }),
    }
    return noteWritten(upload(connection, target, source, options))
  }

  const receiveFile = createReceiver(connection, spool)
  const receive: MediaStore['receive'] = async (key, source, options) => {
    const target = { ...locate(key), ...encrypted }
    const received = await noteProblem(receiveFile(target, source, options))
    return { ...received, keep: (until) => noteWritten(received.keep(until)) }
  }

  const put: MediaStore['put'] = async (key, source, { sizeBytesMax, signal }) => {
    const measure = createMeasure(sizeBytesMax)
    const measured = pipeline(source, measure.stream)
    // Handled below: an error of the source is also an error of the upload, and vice versa.
    measured.catch(() => undefined)
    try {
      await putStream(key, measure.stream, { sizeBytesMax, signal })
      await measured
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
    return measure.result()
  }

  const putFile: MediaStore['putFile'] = async (key, path, { signal } = {}) => {
    const { size, mtime } = await stat(path)
    await putStream(
      key,
      createReadStream(path, { highWaterMark: readBytes }),
      { sizeBytesMax: size, signal },
      mtime,
    )
  }

  const get = async (
    key: string,
    range: string | undefined,
    etag: string | undefined,
    options: CallOptions,
  ) => {
    try {
      const command = () =>
        new sdk.GetObjectCommand({
          ...locate(key),
          ...(range !== undefined && { Range: range }),
          ...(etag !== undefined && { IfMatch: etag }),
        })
      return await call((abortSignal) => client.send(command(), { abortSignal }), options)
    } catch (error) {
      if (nameOf(error) === 'NoSuchKey') throw new MediaNotFound(key, { cause: error })
      if (nameOf(error) !== 'InvalidRange' && statusOf(error) !== 416) throw error
      throw tooShort(key, (await find(key, options))?.sizeBytes ?? 0)
    }
  }

  const openRange = async (key: string, { start, end }: ByteRange, options: CallOptions) => {
    const response = await get(key, `bytes=${start}-${end}`, undefined, options)
    const sizeBytes = sizeInRange(response.ContentRange)
    if (end < sizeBytes) return response
    ;(response.Body as Readable).destroy()
    throw tooShort(key, sizeBytes)
  }

  const open: MediaStore['open'] = async (key, { range, signal } = {}) => {
    const isEmpty = range !== undefined && range.end < range.start
    if (isEmpty) {
      if ((await find(key, { signal })) === undefined) throw new MediaNotFound(key)
      return Readable.from([])
    }
    const response =
      range === undefined
        ? await get(key, undefined, undefined, { signal })
        : await openRange(key, range, { signal })
    const { start, end } = range ?? { start: 0, end: (response.ContentLength ?? 0) - 1 }
    return createResumingStream({
      start,
      end,
      signal,
      idleMs: limits.idleMs,
      body: response.Body as Readable,
      openFrom: async (position) =>
        (await get(key, `bytes=${position}-${end}`, response.ETag, { signal })).Body as Readable,
    })
  }

  const copyTo: MediaStore['copyTo'] = async (key, path, { signal } = {}) => {
    const body = await open(key, { signal })
    try {
      await pipeline(body, createWriteStream(path, { mode: 0o600 }))
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }

  const removeBatch = async (keys: string[], failures: Map<string, unknown>) => {
    const byObjectKey = new Map(keys.map((key) => [toObjectKey(prefix, key), key]))
    const Objects = [...byObjectKey.keys()].map((Key) => ({ Key }))
    try {
      const { Errors = [] } = await call((abortSignal) =>
        client.send(new sdk.DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }), {
          abortSignal,
        }),
      )
      for (const { Key = '', Code, Message } of Errors) {
        const key = byObjectKey.get(Key)
        if (key !== undefined) failures.set(key, new Error(`${Code}: ${Message}`))
      }
    } catch (error) {
      for (const key of keys) failures.set(key, error)
    }
  }

  return {
    put,
    receive,
    putFile,
    find,
    open,
    copyTo,
    adopt: async (key, path, options) => {
      await putFile(key, path, options)
      await unlink(path)
    },
    withLocalPath: async (key, work, options) => {
      const path = spool.newPath()
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await copyTo(key, path, options)
      try {
        return await work(path)
      } finally {
        await rm(path, { force: true })
      }
    },
    remove: async (key) => {
      await call((abortSignal) => client.send(new sdk.DeleteObjectCommand(locate(key)), { abortSignal }))
    },
    removeMany: async (keys) => {
      const failures = new Map<string, unknown>()
      for (let start = 0; start < keys.length; start += removalsPerRequest) {
        await removeBatch(keys.slice(start, start + removalsPerRequest), failures)
      }
      if (failures.size > 0) throw new MediaNotRemoved(failures)
    },
    list: async function* (folder) {
      let token: string | undefined
      do {
        const page = { Bucket, Prefix: `${prefix}${folder}/`, ContinuationToken: token }
        const { Contents = [], NextContinuationToken } = await call((abortSignal) =>
          client.send(new sdk.ListObjectsV2Command(page), { abortSignal }),
        )
        for (const { Key = '', Size = 0, LastModified = new Date(0) } of Contents) {
          yield { key: toKey(prefix, Key), sizeBytes: Size, storedAt: LastModified }
        }
        token = NextContinuationToken
      } while (token !== undefined)
    },
    presign: async (key, { contentType, disposition, expiresInSeconds, signal }) => {
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
      const command = new sdk.GetObjectCommand({
        ...locate(key),
        ResponseContentType: contentType,
        ResponseContentDisposition: disposition,
        ResponseCacheControl: 'private, max-age=3600, immutable',
      })
      // It sends nothing, but the credentials may have to be fetched first.
      return call(() => getSignedUrl(client, command, { expiresIn: expiresInSeconds }), { signal })
    },
    removeUnfinished: (startedBefore) =>
      abortUnfinished(connection, { Bucket, Prefix: prefix, isOwn }, startedBefore),
    findProblem: async () => {
      try {
        await attempt((abortSignal) => client.send(new sdk.HeadBucketCommand({ Bucket }), { abortSignal }), {
          timeoutMs: probeTimeoutMs,
        })
        return writeProblem && `the bucket ${Bucket} (MEDIA_STORE) cannot be written: ${writeProblem}`
      } catch (error) {
        return `the bucket ${Bucket} (MEDIA_STORE) cannot be used: ${problemOfBucket(error)}`
      }
    },
    assertUsable: async (setting) => {
      try {
        await call((abortSignal) => client.send(new sdk.HeadBucketCommand({ Bucket }), { abortSignal }))
      } catch (error) {
        const cause = error instanceof MediaStoreUnavailable ? error.cause : error
        // The roles can start while S3 is down.
        if (isTemporary(cause)) return
        throw new Error(`${setting}: the bucket ${Bucket} cannot be used: ${problemOfBucket(cause)}`, {
          cause: error,
        })
      }
    },
  }
}

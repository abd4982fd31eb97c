import type { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

/** A stream is larger than the caller allows. */
export class FileTooLarge extends RangeError {
  constructor(sizeBytesMax: number) {
    super(`the file is larger than ${sizeBytesMax} bytes`)
  }
}

/** The store has no object with this key. Every store reports a missing object with this error. */
export class MediaNotFound extends Error {
  readonly key: string
  constructor(key: string, options?: ErrorOptions) {
    super(`the media store has no object ${key}`, options)
    this.key = key
  }
}

/** The store cannot be used now: it cannot be reached, is full, or refuses its credentials. A customer can only try again later. */
export class MediaStoreUnavailable extends ApiError {
  constructor(reason: string, options?: ErrorOptions) {
    super('service_unavailable', {
      message: 'The media storage is unavailable at the moment. Try again later.',
      detail: reason,
      headers: { 'retry-after': '10' },
      ...options,
    })
  }
}

/** Some objects could not be removed. The others are gone. */
export class MediaNotRemoved extends Error {
  /** The keys that are left, with the cause of each. */
  readonly failures: ReadonlyMap<string, unknown>
  constructor(failures: ReadonlyMap<string, unknown>) {
    super(`${failures.size} objects could not be removed from the media store`, {
      cause: failures.values().next().value,
    })
    this.failures = failures
  }
}

/** Inclusive, in bytes. */
export interface ByteRange {
  start: number
  end: number
}

interface Abortable {
  signal?: AbortSignal | undefined
}

export interface ObjectInfo {
  sizeBytes: number
  /** When the content was written. A copy in another store or in a backup keeps it. */
  writtenAt: Date
}

/** The headers of the response to a presigned URL, and how long it is valid. */
interface PresignOptions extends Abortable {
  contentType: string
  disposition: string
  expiresInSeconds: number
}

export interface ReceiveOptions extends Abortable {
  sizeBytesMax: number
  /** Sees each chunk on its way. */
  onChunk?: (chunk: Buffer) => void
}

/** Content that has arrived and is no object yet. Its owner calls `keep` or `discard`, once. */
export interface ReceivedFile {
  /** A local file with the content, until then. */
  path: string
  sizeBytes: number
  sha256: string
  /** Makes it the object of its key. Leaves nothing if it fails. */
  keep: (options?: Abortable) => Promise<void>
  discard: () => Promise<void>
}

/**
 * Stores media as objects with keys. Keys never contain text of a caller. An object is either complete or does not exist.
 * A missing object is a `MediaNotFound`, unless stated otherwise.
 */
export interface MediaStore {
  /** Writes a stream and returns its size and hash. A stream larger than `sizeBytesMax` fails with `FileTooLarge` and leaves nothing. */
  put: (
    key: string,
    source: Readable,
    options: Abortable & { sizeBytesMax: number },
  ) => Promise<{ sizeBytes: number; sha256: string }>
  /** Receives a stream whose content is checked before it becomes an object. Fails like `put`. */
  receive: (key: string, source: Readable, options: ReceiveOptions) => Promise<ReceivedFile>
  /** Stores a copy of a local file. */
  putFile: (key: string, path: string, options?: Abortable) => Promise<void>
  /** Moves a file of the spool into the store. */
  adopt: (key: string, path: string, options?: Abortable) => Promise<void>
  /** Undefined if the object does not exist. */
  find: (key: string, options?: Abortable) => Promise<ObjectInfo | undefined>
  /** Opens the object, or a range of it. The stream fails if the object ends before the range. */
  open: (key: string, options?: Abortable & { range?: ByteRange }) => Promise<Readable>
  /** Copies the object to a new local file. */
  copyTo: (key: string, path: string, options?: Abortable) => Promise<void>
  /** Provides a local path that programs can read while `work` runs. */
  withLocalPath: <Result>(
    key: string,
    work: (path: string) => Promise<Result>,
    options?: Abortable,
  ) => Promise<Result>
  /** Removing a missing object is not an error. */
  remove: (key: string) => Promise<void>
  /** Removes as many as possible. Throws `MediaNotRemoved` if some are left. */
  removeMany: (keys: string[]) => Promise<void>
  /** Lists a folder recursively. An object has the time at which this store received it. */
  list: (folder: string) => AsyncIterable<{ key: string; sizeBytes: number; storedAt: Date }>
  /** Removes what processes that died have left of unfinished objects since then. Returns how many objects that were. */
  removeUnfinished?: (startedBefore: Date) => Promise<number>
  /** What is wrong with the store now, in words for an operator. A store without it has no state of its own. */
  findProblem?: () => Promise<string | undefined>
  /** Makes a URL that opens the object without this service, if the store of the object has such URLs. Nobody may store it. */
  presign?: (key: string, options: PresignOptions) => Promise<string | undefined>
}

import type { Readable } from 'node:stream'

/** A stream is larger than the caller allows. */
export class FileTooLarge extends RangeError {
  constructor(sizeBytesMax: number) {
    super(`the file is larger than ${sizeBytesMax} bytes`)
  }
}

/** Stores media files. Keys never contain text of a caller. A file is either complete or does not exist. */
export interface MediaStore {
  /** Writes a stream and returns its size and hash. A stream larger than `sizeBytesMax` fails with `FileTooLarge` and leaves no file. */
  put: (key: string, source: Readable, sizeBytesMax: number) => Promise<{ sizeBytes: number; sha256: string }>
  /** Moves a local file into the store. */
  adopt: (key: string, path: string) => Promise<void>
  /** Opens the bytes from `start` to `end`, inclusive; undefined if the file does not exist. A shorter file fails. */
  open: (key: string, range?: { start: number; end: number }) => Promise<Readable | undefined>
  /** Provides a local path that programs can read while `work` runs. */
  withLocalPath: <Result>(key: string, work: (path: string) => Promise<Result>) => Promise<Result>
  remove: (key: string) => Promise<void>
  /** Lists a folder recursively, with the last modification. The folder `spool` contains incomplete files. */
  list: (folder: string) => AsyncIterable<{ key: string; writtenAt: Date }>
  /** A local directory for incomplete files. */
  spoolDirectory: string
}

import type { Readable } from 'node:stream'

/** Where files live. Keys are ours, never a caller's text. A file is whole or not there at all. */
export interface MediaStore {
  /** Writes the stream, counting and hashing on the way; more than `sizeBytesMax` fails and leaves nothing. */
  put: (key: string, source: Readable, sizeBytesMax: number) => Promise<{ sizeBytes: number; sha256: string }>
  /** Takes over a file that is already on this machine. */
  adopt: (key: string, path: string) => Promise<void>
  /** Opens bytes `start` to `end`, both included; undefined when the file is not there. */
  open: (key: string, range?: { start: number; end: number }) => Promise<Readable | undefined>
  /** A path that tools on this machine can read, for as long as `work` runs. */
  withLocalPath: <Result>(key: string, work: (path: string) => Promise<Result>) => Promise<Result>
  remove: (key: string) => Promise<void>
  /** Every file in this folder or below, and when it was last written to; `spool` has those on their way in. */
  list: (folder: string) => AsyncIterable<{ key: string; writtenAt: Date }>
  /** For files on their way in. */
  spoolDirectory: string
}

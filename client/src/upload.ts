/** Files in requests. */
import { KinoraError } from './kinora-error.ts'

/**
 * A file to send. `{ path }` names a file of this machine. A stream is sent as it arrives, and only once: a request with it is
 * not repeated.
 */
export type Upload =
  | Blob
  | ArrayBuffer
  | Uint8Array
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | { path: string }

/** A file whose content can be read again, or only once. */
export type OpenedUpload = { name: string } & ({ blob: Blob } | { stream: AsyncIterable<Uint8Array> })

const isIterable = (value: object): value is AsyncIterable<Uint8Array> => Symbol.asyncIterator in value

const isReadable = (value: object): value is ReadableStream<Uint8Array> => 'getReader' in value

export const isUpload = (value: unknown): value is Upload =>
  typeof value === 'object' &&
  value !== null &&
  (value instanceof Blob ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value) ||
    isReadable(value) ||
    isIterable(value) ||
    ('path' in value && typeof value.path === 'string'))

/** The modules of Node, which Bun and Deno have too. A bundler for browsers does not see them. */
export const getNodeModules = (purpose: string) => {
  const { process } = globalThis
  // The types of Node do not know browsers.
  if ((process as object | undefined) === undefined || !('getBuiltinModule' in process))
    throw new KinoraError('not_supported', `${purpose} needs a file system: Node, Bun or Deno.`)
  return {
    fs: process.getBuiltinModule('node:fs'),
    files: process.getBuiltinModule('node:fs/promises'),
    path: process.getBuiltinModule('node:path'),
    stream: process.getBuiltinModule('node:stream'),
    streams: process.getBuiltinModule('node:stream/promises'),
  }
}

/** Not all browsers can iterate over a stream. */
export async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    // Without effect if the stream has ended.
    await reader.cancel().catch(() => undefined)
  }
}

export const openUpload = async (upload: Upload): Promise<OpenedUpload> => {
  if (upload instanceof Blob) return { name: 'name' in upload ? String(upload.name) : 'file', blob: upload }
  if (upload instanceof ArrayBuffer || ArrayBuffer.isView(upload)) {
    // The types of browsers forbid shared memory, those of Node do not.
    const part: unknown = upload
    return { name: 'file', blob: new Blob([part as ArrayBuffer]) }
  }
  if (isReadable(upload)) return { name: 'file', stream: readStream(upload) }
  if (isIterable(upload)) return { name: 'file', stream: upload }
  const { fs, path } = getNodeModules('A path')
  // The blob reads the file while it is sent.
  return { name: path.basename(upload.path), blob: await fs.openAsBlob(upload.path) }
}

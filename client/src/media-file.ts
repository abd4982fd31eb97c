/** A file in a response. */
import { KinoraError } from './kinora-error.ts'
import { getNodeModules } from './upload.ts'
import { backoffMs, wait } from './wait.ts'

/** A file that is being received. Read it once: with one of its methods. */
export interface MediaFile {
  readonly contentType: string
  /** Undefined while the service is still generating the file. */
  readonly sizeBytes: number | undefined
  readonly headers: Headers
  /** The bytes as they arrive. A download that is interrupted continues where it was. */
  stream(): ReadableStream<Uint8Array>
  bytes(): Promise<Uint8Array>
  blob(): Promise<Blob>
  /** Writes the file, in Node, Bun and Deno. Nothing has this name until it is complete. */
  save(path: string): Promise<void>
}

/** Requests the rest of a file, for which the headers name the first byte. */
export type RequestRest = (headers: Record<string, string>) => Promise<Response>

const failuresMax = 8

/** Where a part of a file begins. */
const readStart = (headers: Headers): number | undefined => {
  const [, start] = /^bytes (\d+)-/.exec(headers.get('content-range') ?? '') ?? []
  return start === undefined ? undefined : Number(start)
}

/** The tag by which the rest can be requested; null if the bytes of this response have other numbers than those of the file. */
const readTag = ({ status, headers }: Response): string | null => {
  const tag = headers.get('etag')
  return status !== 200 || headers.has('content-encoding') || tag?.startsWith('W/') === true ? null : tag
}

/** The bytes of a response. With `requestRest`, an interruption is followed by a request for the rest. */
async function* readBytes(
  first: Response,
  requestRest: RequestRest | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const tag = readTag(first)
  const sizeBytes = readSize(first)
  let reader = first.body?.getReader()
  let received = 0
  let failures = 0
  try {
    for (;;) {
      try {
        if (reader === undefined) {
          const rest = await requestRest?.({
            range: `bytes=${received}-`,
            ...(tag !== null && { 'if-range': tag }),
          })
          const isRest =
            rest?.status === 206 &&
            readStart(rest.headers) === received &&
            rest.headers.get('etag') === tag &&
            !rest.headers.has('content-encoding')
          reader = rest?.body?.getReader()
          if (!isRest)
            throw new KinoraError('invalid_response', 'The file has changed since the download began.', {
              status: 412,
            })
        }
        for (;;) {
          const { done = true, value } = (await reader?.read()) ?? {}
          if (done) {
            if (sizeBytes !== undefined && received < sizeBytes)
              throw new Error('The response is incomplete.')
            return
          }
          received += value?.length ?? 0
          failures = 0
          if (value !== undefined) yield value
        }
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof KinoraError && error.status !== undefined) throw error
        failures += 1
        if (requestRest === undefined || tag === null || failures > failuresMax)
          throw new KinoraError(
            'connection_failed',
            `The file was interrupted after ${received} bytes.`,
            {},
            { cause: error },
          )
        reader = undefined
        await wait(backoffMs(failures - 1), signal)
      }
    }
  } finally {
    await reader?.cancel().catch(() => undefined)
  }
}

const readSize = ({ headers }: Response): number | undefined => {
  const length = headers.get('content-length')
  // A proxy that compresses states the length of something else.
  return length === null || headers.has('content-encoding') ? undefined : Number(length)
}

export const createMediaFile = (
  response: Response,
  requestRest?: RequestRest,
  signal?: AbortSignal,
): MediaFile => {
  const { headers } = response
  const contentType = headers.get('content-type') ?? 'application/octet-stream'
  const stream = () => {
    const parts = readBytes(response, requestRest, signal)
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await parts.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => {
        await parts.return(undefined)
      },
    })
  }
  const blob = () => new Response(stream(), { headers: { 'content-type': contentType } }).blob()
  return {
    contentType,
    sizeBytes: readSize(response),
    headers,
    stream,
    blob,
    bytes: async () => new Uint8Array(await (await blob()).arrayBuffer()),
    save: async (path) => {
      const { fs, files, streams } = getNodeModules('save()')
      const bytes = readBytes(response, requestRest, signal)
      const found = await files.stat(path).catch(() => undefined)
      // A pipe or a device is not replaced by a file.
      if (found?.isFile() === false) return streams.pipeline(bytes, fs.createWriteStream(path))
      const target = found === undefined ? path : await files.realpath(path)
      const unfinished = `${target}.${crypto.randomUUID().slice(0, 8)}.part`
      try {
        await streams.pipeline(bytes, fs.createWriteStream(unfinished, { flags: 'wx' }))
        await files.rename(unfinished, target)
      } catch (error) {
        await files.rm(unfinished, { force: true })
        throw error
      }
    },
  }
}

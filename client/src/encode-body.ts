/** The body of a request: JSON, or a form if there is a file. */
import { isUpload, openUpload, readStream, type OpenedUpload } from './upload.ts'

export interface EncodedBody {
  body: string | FormData | ReadableStream<Uint8Array>
  contentType?: string
  /** The body is a stream, which can be sent only once. */
  isOnce?: true
}

type Params = Record<string, unknown>

const isPresent = (value: unknown) => value !== undefined && value !== null

const hasUpload = (value: unknown): boolean =>
  isUpload(value) || (Array.isArray(value) && value.some(isUpload))

/** The fields of a form. An item of a list is a field of its own; several files have the same name. */
const readFields = (params: Params): [string, unknown][] =>
  Object.entries(params).flatMap(([name, value]): [string, unknown][] => {
    if (!isPresent(value)) return []
    if (Array.isArray(value)) return value.map((item) => [hasUpload(value) ? name : `${name}[]`, item])
    return [[name, value]]
  })

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const encoder = new TextEncoder()

/** The bytes of a form with a stream. `FormData` accepts only files whose size is known. */
async function* writeForm(fields: [string, string | OpenedUpload][], boundary: string) {
  for (const [name, value] of fields) {
    const start = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`
    if (typeof value === 'string') {
      yield encoder.encode(`${start}\r\n\r\n${value}\r\n`)
      continue
    }
    const fileName = value.name.replaceAll(/["\r\n]/g, '_')
    yield encoder.encode(`${start}; filename="${fileName}"\r\ncontent-type: application/octet-stream\r\n\r\n`)
    if ('stream' in value) yield* value.stream
    else yield* readStream(value.blob.stream())
    yield encoder.encode('\r\n')
  }
  yield encoder.encode(`--${boundary}--\r\n`)
}

const streamOf = (parts: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => {
      await parts.return(undefined)
    },
  })

/** Browsers send a stream only over HTTP/2, so they collect it first. */
const canSendStreams = () => globalThis.process?.versions !== undefined

const encodeForm = async (params: Params): Promise<EncodedBody> => {
  const fields: [string, string | OpenedUpload][] = []
  for (const [name, value] of readFields(params))
    fields.push([name, isUpload(value) ? await openUpload(value) : textOf(value)])
  const hasStream = fields.some(([, value]) => typeof value === 'object' && 'stream' in value)
  if (hasStream && canSendStreams()) {
    const boundary = `kinora-${crypto.randomUUID()}`
    const contentType = `multipart/form-data; boundary=${boundary}`
    return { body: streamOf(writeForm(fields, boundary)), contentType, isOnce: true }
  }
  const form = new FormData()
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value)
    else if ('blob' in value) form.append(name, value.blob, value.name)
    else {
      const parts: Uint8Array<ArrayBuffer>[] = []
      for await (const part of value.stream) parts.push(new Uint8Array(part))
      form.append(name, new Blob(parts), value.name)
    }
  }
  return { body: form }
}

/** `forms`: whether the operation accepts a form, or only a form. */
export const encodeBody = (
  params: Params,
  forms: 'no' | 'yes' | 'only',
): Promise<EncodedBody> | EncodedBody =>
  forms === 'only' || (forms === 'yes' && Object.values(params).some(hasUpload))
    ? encodeForm(params)
    : { body: JSON.stringify(params), contentType: 'application/json' }

/** The query of a URL. The members of an object are `name[member]`. */
export const encodeQuery = (params: Params): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (!isPresent(value)) continue
    if (typeof value !== 'object') query.append(name, textOf(value))
    else
      for (const [member, one] of Object.entries(value as Params))
        query.append(`${name}[${member}]`, textOf(one))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

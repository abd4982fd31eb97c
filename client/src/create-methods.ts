/** Makes the methods from the generated table. */
import { encodeBody, encodeQuery } from './encode-body.ts'
import { createEventStream, type ServerEvent } from './event-stream.ts'
import { KinoraError } from './kinora-error.ts'
import { createList } from './list.ts'
import { createMediaFile } from './media-file.ts'
import type { RequestOptions, Send, SentRequest } from './transport.ts'

type Params = Record<string, unknown>

interface Row {
  method: string
  path: string
  flags: string
}

const readRow = (row: string): Row => {
  const [method = '', path = '', flags = ''] = row.split(' ')
  return { method, path, flags }
}

const isJson = (response: Response) => /[/+]json\b/.test(response.headers.get('content-type') ?? '')

/** Whether the caller asks for a stream of events. */
const isStream = ({ stream, stream_format }: Params) => stream === true || stream_format === 'sse'

const formsOf = (flags: string) => {
  if (flags.includes('o')) return 'only'
  return flags.includes('f') ? 'yes' : 'no'
}

/** URLs do not keep an empty part or dots, so such a request would be one for something else. */
const encodePathPart = (name: string, value: unknown): string => {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
    throw new KinoraError('invalid_parameter', `${name} must be the id of something, not '${String(value)}'.`)
  return encodeURIComponent(value).replaceAll('%3A', ':')
}

/** The request of a call: path parameters first, then the parameters, then the options. */
const buildRequest = ({ method, path, flags }: Row, given: unknown[]) => {
  const rest = [...given]
  const filled = path.replaceAll(/\{\w+\}/g, (name) => encodePathPart(name, rest.shift()))
  const params = (/[qb]/.test(flags) ? (rest.shift() ?? {}) : {}) as Params
  const options = (rest[0] ?? {}) as RequestOptions
  const hasBody = flags.includes('b')
  const creates = flags.includes('c')
  const { dry_run: dryRun, ...body } = params
  const query = hasBody ? { dry_run: dryRun } : params
  // The same for every attempt, so that the service recognizes a repetition.
  const idempotencyKey = options.idempotencyKey ?? (creates ? crypto.randomUUID() : undefined)
  const request: SentRequest = {
    method,
    path: filled + encodeQuery(query),
    headers: {
      ...(flags.includes('d') && { accept: 'application/octet-stream' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(hasBody && { encode: () => encodeBody(body, formsOf(flags)) }),
    // A reference names a movement of money, which is not repeated with the same one.
    isRepeatable: method !== 'POST' || creates || typeof params['reference'] === 'string',
    options,
  }
  return { request, params }
}

/** The event stream of a video ends with one of these. The event feed has no end. */
const isLast = ({ event }: ServerEvent) => event === 'completed' || event === 'failed'

const createMethod = (row: Row, send: Send) => {
  const { method, flags } = row
  const isFile = flags.includes('d')
  return (...given: unknown[]): unknown => {
    const { request, params } = buildRequest(row, given)
    if (flags.includes('e') || isStream(params)) {
      const headers = { ...request.headers, accept: 'text/event-stream' }
      return createEventStream({
        send,
        request: { ...request, headers },
        ...(method === 'GET' && { isLast }),
      })
    }
    const requestRest = (headers: Record<string, string>) =>
      send(
        { ...request, headers: { ...request.headers, ...headers }, isStreamed: true },
        (response) => response,
      )
    const read = (response: Response): unknown => {
      if (isJson(response)) return response.json()
      if (isFile)
        return createMediaFile(response, method === 'GET' ? requestRest : undefined, request.options.signal)
      return response.text()
    }
    if (!flags.includes('l')) return send({ ...request, isStreamed: isFile }, read)
    return createList((next) => {
      const more = encodeQuery({ ...params, ...next })
      return send({ ...request, path: request.path.replace(/\?.*$/, '') + more }, read)
    })
  }
}

type Tree = { [name: string]: Tree | ((...given: unknown[]) => unknown) }

/** An object with the methods of a table, whose names are paths such as `videos.create`. */
export const createMethods = <Methods>(table: Record<string, string>, send: Send): Methods => {
  const methods: Tree = {}
  for (const [name, row] of Object.entries(table)) {
    const groups = name.split('.')
    const last = groups.pop() ?? ''
    let group = methods
    for (const key of groups) group = (group[key] ??= {}) as Tree
    group[last] = createMethod(readRow(row), send)
  }
  return methods as Methods
}

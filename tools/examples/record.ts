/** Calls operations by their id and records the first call of each. */
import { adminOperations, type AdminOperationId } from '../../contract/src/admin-operations.ts'
import type { Example } from '../../contract/src/examples.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations, type OperationId } from '../../contract/src/operations.ts'

type AnyOperationId = OperationId | AdminOperationId

interface Call {
  path?: Record<string, string>
  query?: Record<string, string>
  json?: object
  form?: Record<string, string | number | Blob>
  /** Instead of the key of the example account. */
  key?: string
}

type Json = Record<string, unknown> & { id: string }

export interface Recorder {
  url: string
  /** The key of public calls from now on. */
  useKey: (key: string) => void
  /** Resolves to the body of the response, parsed if it is JSON. */
  call: (id: AnyOperationId, call?: Call) => Promise<Json>
  /** Calls again until the condition holds, and records that call. */
  callUntil: (id: AnyOperationId, call: Call, holds: (body: Json) => boolean) => Promise<Json>
  examples: () => Record<string, Example>
}

const tables: Record<string, Operation> = { ...operations, ...adminOperations }
const callAgainAfterMs = 250
const callsMax = 480

const formOf = (fields: Record<string, string | number | Blob>) => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value instanceof Blob) data.append(name, value, `${name}.${value.type.split('/')[1] ?? 'bin'}`)
    else data.append(name, String(value))
  }
  return data
}

const shown = (value: string | number | Blob) => (value instanceof Blob ? `<${value.type} file>` : value)

const requestOf = ({ path = {}, query = {}, json, form }: Call): Example['request'] => ({
  parameters: { ...path, ...query },
  ...(json !== undefined && { contentType: 'application/json', body: json }),
  ...(form !== undefined && {
    contentType: 'multipart/form-data',
    body: Object.fromEntries(Object.entries(form).map(([name, value]) => [name, shown(value)])),
  }),
})

const bodyOf = async (response: Response): Promise<{ contentType: string; body: unknown }> => {
  const [contentType = ''] = (response.headers.get('content-type') ?? '').split(';')
  if (contentType === 'application/json') return { contentType, body: await response.json() }
  if (contentType.startsWith('text/')) return { contentType, body: await response.text() }
  await response.arrayBuffer()
  return { contentType, body: `<${contentType} file>` }
}

export const createRecorder = ({ url, operatorKey }: { url: string; operatorKey: string }): Recorder => {
  const examples = new Map<string, Example>()
  let customerKey = ''
  /** Of the console, which its own operations need. */
  let cookie = ''
  const send = async (id: AnyOperationId, call: Call): Promise<Example> => {
    const operation = tables[id]
    if (operation === undefined) throw new Error(`There is no operation ${id}.`)
    const { method, path, access } = operation
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(call.path?.[name] ?? ''),
    )
    const key = access === 'operator' ? operatorKey : access === 'key' ? (call.key ?? customerKey) : undefined
    const body = call.form === undefined ? call.json && JSON.stringify(call.json) : formOf(call.form)
    const response = await fetch(`${url}${filled}?${new URLSearchParams(call.query).toString()}`, {
      method,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(path.startsWith('/console/') && { cookie, origin: url }),
        ...(call.json !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    })
    const [given] = response.headers.getSetCookie()
    cookie = given?.split(';')[0] ?? cookie
    const received = await bodyOf(response)
    if (response.status !== 200) throw new Error(`${id}: ${response.status} ${JSON.stringify(received.body)}`)
    return { request: requestOf(call), response: received }
  }

  const record = (id: AnyOperationId, example: Example): Json => {
    if (!examples.has(id)) examples.set(id, example)
    return example.response.body as Json
  }

  return {
    url,
    useKey: (key) => {
      customerKey = key
    },
    call: async (id, call = {}) => record(id, await send(id, call)),
    callUntil: async (id, call, holds) => {
      for (let calls = 0; calls < callsMax; calls += 1) {
        const example = await send(id, call)
        if (holds(example.response.body as Json)) return record(id, example)
        await new Promise((resolve) => setTimeout(resolve, callAgainAfterMs))
      }
      throw new Error(`${id} did not return what the example needs.`)
    },
    examples: () => {
      const missing = Object.keys(tables).filter((id) => !examples.has(id))
      if (missing.length > 0) throw new Error(`No example was recorded of ${missing.join(', ')}.`)
      return Object.fromEntries(Object.keys(tables).map((id) => [id, examples.get(id) as Example]))
    },
  }
}

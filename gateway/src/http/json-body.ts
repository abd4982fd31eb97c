import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'

import { ApiError } from '@kinora/contract/errors'

import type { ByteBudget } from './byte-budget.ts'
import { fieldsOf, type Fields } from './fields.ts'

const readTimeoutMs = 30_000
const depthMax = 32
const membersMax = 1_000

const tooLarge = (sizeBytesMax: number) =>
  new ApiError('request_too_large', { message: `The body is larger than ${Math.floor(sizeBytesMax / 1_048_576)} MiB.` })

const collect = async (request: IncomingMessage, encoding: string, sizeBytesMax: number): Promise<Buffer> => {
  const inflater = encoding === 'gzip' ? createGunzip() : undefined
  const source = inflater === undefined ? request : request.pipe(inflater)
  const timer = setTimeout(
    () => source.destroy(new ApiError('invalid_request', { message: 'The body took too long to arrive.' })),
    readTimeoutMs,
  )
  const chunks: Buffer[] = []
  let sizeBytes = 0
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      sizeBytes += chunk.length
      if (sizeBytes > sizeBytesMax) throw tooLarge(sizeBytesMax)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('invalid_request', { message: 'The body could not be read.', cause: error })
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks, sizeBytes)
}

/** Refuses shapes that no honest request has, before anything walks them. */
const assertModest = (root: unknown): void => {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 1 }]
  let members = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    const children = Object.values(value)
    members += children.length
    if (depth > depthMax || members > membersMax) {
      throw new ApiError('invalid_request', { message: 'The JSON is nested too deeply or has too many members.' })
    }
    for (const child of children) open.push({ value: child, depth: depth + 1 })
  }
}

/** Reads a JSON object as fields, inside the budget of bytes being parsed. */
export const readJsonBody = (request: IncomingMessage, sizeBytesMax: number, budget: ByteBudget): Promise<Fields> => {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new ApiError('invalid_request', { message: `The content encoding '${encoding.slice(0, 40)}' is not supported.` })
  }
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  if (announced > sizeBytesMax) throw tooLarge(sizeBytesMax)
  // What a compressed or unannounced body grows to is only known at its end, so it counts as the most it may be.
  const bytes = encoding === 'identity' && Number.isFinite(announced) ? announced : sizeBytesMax
  return budget.within(bytes, async () => {
    const body = await collect(request, encoding, sizeBytesMax)
    let parsed: unknown
    try {
      parsed = JSON.parse(body.toString('utf8'))
    } catch (error) {
      throw new ApiError('invalid_request', { message: 'The body is not valid JSON.', cause: error })
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      throw new ApiError('invalid_request', { message: 'The body must be a JSON object.' })
    }
    assertModest(parsed)
    // A map, because a name such as __proto__ is only a name there.
    return fieldsOf('json', new Map(Object.entries(parsed)))
  })
}

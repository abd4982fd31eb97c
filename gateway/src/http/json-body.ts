import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'

import { ApiError } from '@kinora/contract/errors'

import type { ByteBudget } from './byte-budget.ts'
import { fieldsOf, type Fields } from './fields.ts'

const readTimeoutMs = 30_000
const depthMax = 32
const membersMax = 1_000

const tooLarge = (sizeBytesMax: number) =>
  new ApiError('request_too_large', {
    message: `The body is larger than ${Math.floor(sizeBytesMax / 1_048_576)} MiB.`,
  })

/**
 * Collects a body up to its limit. What is refused is read to its end without being kept, because a sender
 * that is cut off in the middle never gets to see why.
 */
const collect = (request: IncomingMessage, encoding: string, sizeBytesMax: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const inflater = encoding === 'gzip' ? createGunzip() : undefined
    const source = inflater ?? request
    const chunks: Buffer[] = []
    let sizeBytes = 0

    const stop = () => {
      clearTimeout(timer)
      source.removeAllListeners('data')
      request.off('close', onClose)
    }
    const refuse = (error: unknown) => {
      stop()
      request.unpipe()
      request.resume()
      // Only now, because what is closed may still complain, and nobody is left to hear it.
      inflater?.on('error', () => undefined).destroy()
      const isKnown = error instanceof ApiError
      reject(
        isKnown
          ? error
          : new ApiError('invalid_request', { message: 'The body could not be read.', cause: error }),
      )
    }
    // A sender that goes away ends the request but not what it was piped into.
    const onClose = () => {
      if (!request.complete) refuse(new Error('the sender went away'))
    }
    const timer = setTimeout(
      () => refuse(new ApiError('invalid_request', { message: 'The body took too long to arrive.' })),
      readTimeoutMs,
    )
    request.on('close', onClose)
    // The sender may have gone while its key was looked up; then nothing will ever be heard of the body.
    if (request.destroyed) return onClose()
    source.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > sizeBytesMax) refuse(tooLarge(sizeBytesMax))
      else chunks.push(chunk)
    })
    source.on('error', refuse)
    source.once('end', () => {
      stop()
      // A request lives as long as its answer, which may be a stream: nothing of it may hold on to the body.
      source.off('error', refuse)
      resolve(Buffer.concat(chunks, sizeBytes))
    })
    if (inflater !== undefined) request.pipe(inflater)
  })

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
      throw new ApiError('invalid_request', {
        message: 'The JSON is nested too deeply or has too many members.',
      })
    }
    for (const child of children) open.push({ value: child, depth: depth + 1 })
  }
}

/** Reads a JSON object as fields, inside the budget of bytes being parsed. */
export const readJsonBody = (
  request: IncomingMessage,
  sizeBytesMax: number,
  budget: ByteBudget,
): Promise<Fields> => {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new ApiError('invalid_request', {
      message: `The content encoding '${encoding.slice(0, 40)}' is not supported.`,
    })
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

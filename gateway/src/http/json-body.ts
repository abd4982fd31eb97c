import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'

import { ApiError } from '@kinora/contract/errors'

import { nextTurn } from '../platform/next-turn.ts'
import type { ByteBudget } from './byte-budget.ts'
import { fieldsOf, type Fields } from './fields.ts'
import { createJsonScan, depthMax, membersMax, notJson, notModest } from './json-scan.ts'
import { createTextSpool, type SpooledText } from './spooled-text.ts'

export interface JsonBody {
  fields: Fields
  longText: (value: unknown) => SpooledText | undefined
  /** Removes what is spooled. */
  discard: () => Promise<void>
}

const readTimeoutMs = 30_000
/** What is spooled may take longer, as long as it comes: a slow but honest phone sends faster than this. */
const spooledBytesPerMs = 32

const tooLarge = (sizeBytesMax: number) =>
  new ApiError('request_too_large', {
    message: `The body is larger than ${Math.floor(sizeBytesMax / 1_048_576)} MiB.`,
  })

interface Receiving {
  encoding: string
  sizeBytesMax: number
  /** How long a body may take of which so much has come. */
  patienceMs: (receivedBytes: number) => number
  /** Takes what has come; while it is busy nothing more is read. */
  take: (chunk: Buffer) => Promise<void> | undefined
}

/**
 * Receives a body up to its limit. What is refused is read to its end without being kept, because a sender
 * that is cut off in the middle never gets to see why.
 */
const receive = (
  request: IncomingMessage,
  { encoding, sizeBytesMax, patienceMs, take }: Receiving,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const inflater = encoding === 'gzip' ? createGunzip() : undefined
    const source = inflater ?? request
    const startedMs = Date.now()
    let sizeBytes = 0
    let receivedBytes = 0
    let taking: Promise<void> | undefined

    const stop = () => {
      clearInterval(timer)
      source.removeAllListeners('data')
      request.off('data', countReceived).off('close', onClose)
    }
    const refuse = (error: unknown) => {
      stop()
      request.unpipe()
      request.resume()
      // Only now, because what is closed may still complain, and nobody is left to hear it.
      inflater?.on('error', () => undefined).destroy()
      reject(error)
    }
    const unreadable = (cause: unknown) =>
      refuse(new ApiError('invalid_request', { message: 'The body could not be read.', cause }))
    // A sender that goes away ends the request but not what it was piped into.
    const onClose = () => {
      if (!request.complete) unreadable(new Error('the sender went away'))
    }
    const timer = setInterval(() => {
      if (Date.now() - startedMs < patienceMs(receivedBytes)) return
      refuse(new ApiError('invalid_request', { message: 'The body took too long to arrive.' }))
    }, 1_000)
    const countReceived = (chunk: Buffer) => {
      receivedBytes += chunk.length
    }
    request.on('close', onClose)
    // The sender may have gone while its key was looked up; then nothing will ever be heard of the body.
    if (request.destroyed) return onClose()
    source.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > sizeBytesMax) return refuse(tooLarge(sizeBytesMax))
      taking = take(chunk)
      if (taking === undefined) return
      source.pause()
      taking.then(() => source.resume(), refuse)
    })
    source.on('error', unreadable)
    source.once('end', () => {
      // The end may be told while the last piece is still being taken.
      void Promise.resolve(taking).then(() => {
        stop()
        // A request lives as long as its answer, which may be a stream: nothing of it may hold on to the body.
        source.off('error', unreadable)
        resolve()
      }, refuse)
    })
    if (inflater === undefined) request.on('data', countReceived)
    else request.on('data', countReceived).pipe(inflater)
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
    if (depth > depthMax || members > membersMax) throw notModest()
    for (const child of children) open.push({ value: child, depth: depth + 1 })
  }
}

const parse = (body: Buffer): Fields => {
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw notJson(error)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ApiError('invalid_request', { message: 'The body must be a JSON object.' })
  }
  assertModest(parsed)
  // A map, because a name such as __proto__ is only a name there.
  return fieldsOf('json', new Map(Object.entries(parsed)))
}

const announcedBytes = (request: IncomingMessage, sizeBytesMax: number) => {
  const announced = Number(request.headers['content-length'] ?? Number.NaN)
  if (announced > sizeBytesMax) throw tooLarge(sizeBytesMax)
  return announced
}

const encodingOf = (request: IncomingMessage) => {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === 'gzip') return encoding
  throw new ApiError('invalid_request', {
    message: `The content encoding '${encoding.slice(0, 40)}' is not supported.`,
  })
}

/** Reads a JSON object as fields, inside the budget of bytes being parsed. */
export const readJsonBody = async (
  request: IncomingMessage,
  sizeBytesMax: number,
  budget: ByteBudget,
): Promise<JsonBody> => {
  const encoding = encodingOf(request)
  const announced = announcedBytes(request, sizeBytesMax)
  // What a compressed or unannounced body grows to is only known at its end, so it counts as the most it may be.
  const bytes = encoding === 'identity' && Number.isFinite(announced) ? announced : sizeBytesMax
  return budget.within(bytes, async () => {
    const chunks: Buffer[] = []
    await receive(request, {
      encoding,
      sizeBytesMax,
      patienceMs: () => readTimeoutMs,
      take: (chunk) => {
        chunks.push(chunk)
        return undefined
      },
    })
    const fields = parse(Buffer.concat(chunks))
    return { fields, longText: () => undefined, discard: () => Promise.resolve() }
  })
}

/** Reads a body as the bytes it is, inside the same budget: what a signature covers must not be touched. */
export const readBytes = (
  request: IncomingMessage,
  sizeBytesMax: number,
  budget: ByteBudget,
): Promise<Buffer> => {
  const announced = announcedBytes(request, sizeBytesMax)
  return budget.within(Number.isFinite(announced) ? announced : sizeBytesMax, async () => {
    const chunks: Buffer[] = []
    await receive(request, {
      encoding: 'identity',
      sizeBytesMax,
      patienceMs: () => readTimeoutMs,
      take: (chunk) => {
        chunks.push(chunk)
        return undefined
      },
    })
    return Buffer.concat(chunks)
  })
}

/**
 * A JSON object as fields where bodies carry recordings or pictures as text: long texts are spooled while they arrive, so that such
 * a body costs little memory and parsing it holds nobody up. Only what is left counts against the budget.
 */
export const readSpooledJsonBody = async (
  request: IncomingMessage,
  sizeBytesMax: number,
  budget: ByteBudget,
  spoolDirectory: string,
): Promise<JsonBody> => {
  const encoding = encodingOf(request)
  announcedBytes(request, sizeBytesMax)
  const spool = createTextSpool(spoolDirectory)
  try {
    const scan = createJsonScan(spool)
    await receive(request, {
      encoding,
      sizeBytesMax,
      patienceMs: (receivedBytes) => readTimeoutMs + receivedBytes / spooledBytesPerMs,
      take: async (chunk) => {
        await nextTurn()
        await scan.take(chunk)
      },
    })
    await spool.finish()
    const kept = scan.kept()
    const fields = await budget.within(kept.length, async () => parse(kept))
    return { fields, longText: spool.find, discard: spool.discard }
  } catch (error) {
    await spool.discard()
    throw error
  }
}

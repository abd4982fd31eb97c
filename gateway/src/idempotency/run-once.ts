/**
 * Answers a request once, however often it comes. Whoever comes first claims it and answers; the reply is kept, and
 * whoever comes later gets it, waiting for it where it is still being made. A request is recognised by the key its
 * caller gave it or, where a client library says that it tries again, by asking the same. A refusal is not kept:
 * it may be another answer next time.
 */
import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'

import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../auth/caller.ts'
import type { Call, Reply, ResponseToStore } from '../http/call.ts'
import type { EventStream, SentEvent } from '../http/sse.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { readableFrom } from '../platform/streams/with-finalizer.ts'
import {
  claimKey,
  findResponse,
  joinEarlierTry,
  storeResponses,
  mayBeReplay,
  prolongClaims,
  releaseClaim,
  type Claim,
  type StoredResponse,
} from './idempotency-store.ts'
import { passOn } from './tee-stream.ts'

export interface Attempt {
  caller: Caller
  operation: string
  fingerprint: Buffer
  /** The name its caller gave the request. */
  key: string | undefined
  /** How often the client library says that it has tried before. */
  retry: number
}

/** What an answer needs to know of being one of several. */
type Standing = Pick<Call, 'responseToStore' | 'replayOf'>

export type RunOnce = (
  attempt: Attempt,
  gone: AbortSignal,
  answer: (standing: Standing) => Promise<Reply<unknown>>,
) => Promise<Reply<unknown>>

const bodyBytesMax = 1_048_576
const prolongEveryMs = 5_000
const patienceMs = 10_000
const lookEveryMs = 100

const stillInProgress = () => new ApiError('request_in_progress', { headers: { 'retry-after': '1' } })

const notStored = () =>
  new ApiError('conflict', {
    message:
      'This request was answered and charged, and the reply was too large to be kept. A new key asks for it anew.',
    headers: { 'x-should-retry': 'false' },
  })

const isEvents = (body: unknown): body is EventStream =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Readable)

const hasFailed = ({ data }: SentEvent) => data?.startsWith('{"error":') === true

async function* replayed(events: SentEvent[]): EventStream {
  yield* events
}

/** The reply as it was, but for a reply that its task tells anew. */
const replyOf = ({ headers, status, body, bodyKind }: StoredResponse): Reply<unknown> => {
  const bytes = body ?? Buffer.alloc(0)
  const shared = { status: status ?? 200, headers: { ...headers, 'idempotent-replayed': 'true' } }
  if (bodyKind === 'text') return { ...shared, body: bytes.toString('utf8') }
  if (bodyKind === 'bytes') return { ...shared, body: Readable.from([bytes], { objectMode: false }) }
  return { ...shared, body: replayed(JSON.parse(bytes.toString('utf8')) as SentEvent[]) }
}

const textOf = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

export const createRunOnce = ({ postgres, log }: { postgres: Postgres; log: Log }) => {
  const held = new Set<Claim>()
  const prolonging = setInterval(() => {
    if (held.size === 0) return
    prolongClaims(postgres, [...held]).catch((error: unknown) =>
      log.warn({ err: error }, 'idempotency.not-extended'),
    )
  }, prolongEveryMs)
  prolonging.unref()

  /** A claim of this request, or the name under which another try of it is found. */
  const begin = async ({
    caller,
    operation,
    fingerprint,
    key,
    retry,
  }: Attempt): Promise<Claim | { earlier: Buffer }> => {
    const { accountId, keyId } = caller
    const claim = randomUUID()
    if (key !== undefined) {
      const name = createHash('sha256').update(key).digest()
      const wanted = { accountId, name, claim, operation, fingerprint, retry: undefined }
      return (await claimKey(postgres, wanted)) ? wanted : { earlier: name }
    }
    // What is recognised by its content alone is recognised among the requests of one key.
    const ofKey = createHash('sha256').update(keyId).update(fingerprint).digest()
    const name = Buffer.from(claim.replaceAll('-', ''), 'hex')
    const wanted = { accountId, name, claim, operation, fingerprint: ofKey, retry }
    if (retry > 0) {
      const earlier = await postgres.transaction((database) => joinEarlierTry(database, wanted))
      return earlier === undefined ? wanted : { earlier }
    }
    await claimKey(postgres, wanted)
    return wanted
  }

  /** Waits until this request is ours to answer, or was answered. */
  const claimOrFind = async (attempt: Attempt, gone: AbortSignal): Promise<Claim | StoredResponse> => {
    const startedMs = Date.now()
    for (let place = await begin(attempt); ;) {
      if ('claim' in place) return place
      const found = await findResponse(postgres, attempt.caller.accountId, place.earlier)
      if (found === undefined) {
        place = await begin(attempt)
        continue
      }
      if (attempt.key !== undefined && !found.fingerprint.equals(attempt.fingerprint)) {
        throw new ApiError('idempotency_key_reused')
      }
      if (found.status !== null) return found
      if (gone.aborted || Date.now() - startedMs > patienceMs) throw stillInProgress()
      await pause(lookEveryMs)
    }
  }

  const keep = (reply: ResponseToStore): Promise<void> =>
    storeResponses(postgres, [reply]).catch((error: unknown) =>
      // It was made and charged; not to tell would help nobody.
      log.error({ err: error }, 'idempotency.not-stored'),
    )

  const letGo = async (claim: Claim): Promise<void> => {
    held.delete(claim)
    await releaseClaim(postgres, claim).catch((error: unknown) =>
      log.warn({ err: error }, 'idempotency.not-released'),
    )
  }

  const toKeep = (
    { accountId, name, claim }: Claim,
    { status = 200, headers = {} }: Reply<unknown>,
    body: Buffer | undefined,
    bodyKind: 'text' | 'bytes' | 'events',
    taskId: string | null = null,
  ): ResponseToStore => ({
    ...{ accountId, name, claim, status, headers, taskId },
    ...(body === undefined || body.length > bodyBytesMax
      ? { body: null, bodyKind: null }
      : { body, bodyKind }),
  })

  /** A stream is kept when it has come to its end, whether or not its reader is there to see it. */
  const storingStream = (claim: Claim, reply: Reply<unknown>, body: Readable | EventStream) => {
    const passing = <Chunk>(kind: 'bytes' | 'events', joined: (chunks: Chunk[]) => Buffer) => ({
      sizeMax: bodyBytesMax,
      onEnd: async (chunks: Chunk[] | undefined) => {
        held.delete(claim)
        await keep(toKeep(claim, reply, chunks && joined(chunks), kind))
      },
      onBroken: () => letGo(claim),
    })
    if (body instanceof Readable) {
      const bytes = passOn<Buffer>({
        ...passing<Buffer>('bytes', (chunks) => Buffer.concat(chunks)),
        chunks: body.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>,
        sizeOf: ({ length }) => length,
        stop: () => body.destroy(),
      })
      return readableFrom(bytes)
    }
    const kept = passing<SentEvent>('events', (chunks) => Buffer.from(JSON.stringify(chunks)))
    return passOn<SentEvent>({
      ...kept,
      onEnd: (events) => (events?.some(hasFailed) === true ? kept.onBroken() : kept.onEnd(events)),
      chunks: body,
      sizeOf: ({ data = '' }) => data.length,
      stop: () => {
        body.return().catch((error: unknown) => log.error({ err: error }, 'stream.failed'))
      },
    })
  }

  const answerFirst = async (
    claim: Claim,
    { key }: Attempt,
    answer: Parameters<RunOnce>[2],
  ): Promise<Reply<unknown>> => {
    held.add(claim)
    let isStoredWithTask = false
    const storeWithTask: Call['responseToStore'] = (taskId, reply) => {
      isStoredWithTask = true
      const isTold = reply.body === undefined
      return toKeep(claim, reply, isTold ? undefined : textOf(reply.body), 'text', taskId)
    }
    try {
      const reply = await answer({ responseToStore: storeWithTask, replayOf: undefined })
      const { body } = reply
      if (isStoredWithTask) held.delete(claim)
      else if (body instanceof Readable || isEvents(body)) {
        // A client library does not try again what it has begun to read.
        if (key !== undefined) return { ...reply, body: storingStream(claim, reply, body) }
        await letGo(claim)
      } else {
        const text = textOf(body)
        if (key === undefined && text.length > bodyBytesMax) await letGo(claim)
        else {
          held.delete(claim)
          await keep(toKeep(claim, reply, text, 'text'))
        }
      }
      return reply
    } catch (error) {
      await letGo(claim)
      throw error
    }
  }

  const runOnce: RunOnce = async (attempt, gone, answer) => {
    const place = await claimOrFind(attempt, gone)
    if ('claim' in place) return answerFirst(place, attempt, answer)
    if (place.body !== null) return replyOf(place)
    if (place.taskId === null) throw notStored()
    const reply = await answer({ responseToStore: () => undefined, replayOf: place.taskId })
    return { ...reply, headers: { ...reply.headers, 'idempotent-replayed': 'true' } }
  }
  const mayReplay = async (
    { accountId }: Caller,
    operation: string,
    { key, retry }: Pick<Attempt, 'key' | 'retry'>,
  ): Promise<boolean> => {
    if (key === undefined && retry === 0) return false
    const name = key === undefined ? undefined : createHash('sha256').update(key).digest()
    return mayBeReplay(postgres, accountId, { name, operation })
  }
  return { runOnce, mayReplay, close: () => clearInterval(prolonging) }
}

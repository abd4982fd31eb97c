/**
 * Processes a request once, however often it is sent. The first attempt claims it and stores the response; later
 * attempts get the stored response, and wait for it while the first is in progress. A request is recognised by its
 * idempotency key or, for a marked retry of a client library, by its content. Errors are not stored, because the next
 * attempt may succeed.
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
import { repeatWhileUnavailable } from '../platform/while-unavailable.ts'
import {
  claimKey,
  extendClaims,
  findResponse,
  joinEarlierAttempt,
  storeResponses,
  mayBeReplay,
  releaseClaim,
  type Claim,
  type StoredResponse,
} from './idempotency-store.ts'
import { teeStream } from './tee-stream.ts'

export interface Attempt {
  caller: Caller
  operation: string
  fingerprint: Buffer
  /** The idempotency key. */
  key: string | undefined
  /** The retry count that the client library sent. */
  retry: number
}

type Replay = Pick<Call, 'responseToStore' | 'replayOf'>

export type RunOnce = (
  attempt: Attempt,
  disconnected: AbortSignal,
  handle: (replay: Replay) => Promise<Reply<unknown>>,
) => Promise<Reply<unknown>>

const bodyBytesMax = 1_048_576
const extendEveryMs = 5_000
const waitMsMax = 10_000
const pollEveryMs = 100

const stillInProgress = () => new ApiError('request_in_progress', { headers: { 'retry-after': '1' } })

const notStored = () =>
  new ApiError('conflict', {
    message:
      'This request was completed and charged, but its response is not stored: it was too large, or its task was deleted. Use a new key to request it again.',
    headers: { 'x-should-retry': 'false' },
  })

const isEvents = (body: unknown): body is EventStream =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Readable)

const hasFailed = ({ data }: SentEvent) => data?.startsWith('{"error":') === true

async function* replayed(events: SentEvent[]): EventStream {
  yield* events
}

/** The stored response. */
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
  const extending = setInterval(() => {
    if (held.size === 0) return
    extendClaims(postgres, [...held]).catch((error: unknown) =>
      log.warn({ err: error }, 'idempotency.not-extended'),
    )
  }, extendEveryMs)
  extending.unref()

  /** Without a connection to the database, the release follows as soon as there is one. The response does not wait for it. */
  const release = async (claim: Claim): Promise<void> => {
    held.delete(claim)
    const onFailure = (error: unknown) => log.warn({ err: error }, 'idempotency.not-released')
    await releaseClaim(postgres, claim).catch((error: unknown) => {
      onFailure(error)
      void repeatWhileUnavailable(() => releaseClaim(postgres, claim), log).catch(onFailure)
    })
  }

  /** A claim that was made although its confirmation was lost would delay the next attempt. */
  const releasingOnFailure = async <Result>(wanted: Claim, claim: () => Promise<Result>): Promise<Result> => {
    try {
      return await claim()
    } catch (error) {
      void release(wanted)
      throw error
    }
  }

  /** A claim of this request, or the name of an earlier attempt. */
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
      const isClaimed = await releasingOnFailure(wanted, () => claimKey(postgres, wanted))
      return isClaimed ? wanted : { earlier: name }
    }
    // Recognition by content is limited to the requests of one API key.
    const ofKey = createHash('sha256').update(keyId).update(fingerprint).digest()
    const name = Buffer.from(claim.replaceAll('-', ''), 'hex')
    const wanted = { accountId, name, claim, operation, fingerprint: ofKey, retry }
    if (retry > 0) {
      const earlier = await releasingOnFailure(wanted, () =>
        postgres.transaction((database) => joinEarlierAttempt(database, wanted)),
      )
      return earlier === undefined ? wanted : { earlier }
    }
    await releasingOnFailure(wanted, () => claimKey(postgres, wanted))
    return wanted
  }

  /** Waits until this request is claimed here or has a stored response. */
  const claimOrFind = async (
    attempt: Attempt,
    disconnected: AbortSignal,
  ): Promise<Claim | StoredResponse> => {
    const startedMs = performance.now()
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
      if (disconnected.aborted || performance.now() - startedMs > waitMsMax) throw stillInProgress()
      await pause(pollEveryMs)
    }
  }

  const store = (response: ResponseToStore): Promise<void> =>
    storeResponses(postgres, [response]).catch((error: unknown) =>
      // The work is done and charged, so the client gets its response although no replay will find it.
      log.error({ err: error }, 'idempotency.not-stored'),
    )

  const responseOf = (
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

  /** A stream is stored when it has ended, whether or not its reader is still connected. */
  const storingStream = (claim: Claim, reply: Reply<unknown>, body: Readable | EventStream) => {
    const tee = <Chunk>(kind: 'bytes' | 'events', joined: (chunks: Chunk[]) => Buffer) => ({
      sizeMax: bodyBytesMax,
      onEnd: async (chunks: Chunk[] | undefined) => {
        held.delete(claim)
        await store(responseOf(claim, reply, chunks && joined(chunks), kind))
      },
      onBroken: () => release(claim),
    })
    if (body instanceof Readable) {
      const bytes = teeStream<Buffer>({
        ...tee<Buffer>('bytes', (chunks) => Buffer.concat(chunks)),
        chunks: body.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>,
        sizeOf: ({ length }) => length,
        stop: () => body.destroy(),
      })
      return readableFrom(bytes)
    }
    const stored = tee<SentEvent>('events', (chunks) => Buffer.from(JSON.stringify(chunks)))
    return teeStream<SentEvent>({
      ...stored,
      onEnd: (events) => (events?.some(hasFailed) === true ? stored.onBroken() : stored.onEnd(events)),
      chunks: body,
      sizeOf: ({ data = '' }) => data.length,
      stop: () => {
        body.return().catch((error: unknown) => log.error({ err: error }, 'stream.failed'))
      },
    })
  }

  const processFirst = async (
    claim: Claim,
    { key }: Attempt,
    handle: Parameters<RunOnce>[2],
  ): Promise<Reply<unknown>> => {
    held.add(claim)
    let isStoredWithTask = false
    const storeWithTask: Call['responseToStore'] = (taskId, reply) => {
      isStoredWithTask = true
      const body = reply.body === undefined ? undefined : textOf(reply.body)
      return responseOf(claim, reply, body, 'text', taskId)
    }
    try {
      const reply = await handle({ responseToStore: storeWithTask, replayOf: undefined })
      const { body } = reply
      if (isStoredWithTask) held.delete(claim)
      else if (body instanceof Readable || isEvents(body)) {
        // A client library does not retry a response that it has begun to read.
        if (key !== undefined) return { ...reply, body: storingStream(claim, reply, body) }
        await release(claim)
      } else {
        const text = textOf(body)
        if (key === undefined && text.length > bodyBytesMax) await release(claim)
        else {
          held.delete(claim)
          await store(responseOf(claim, reply, text, 'text'))
        }
      }
      return reply
    } catch (error) {
      await release(claim)
      throw error
    }
  }

  const runOnce: RunOnce = async (attempt, disconnected, handle) => {
    const place = await claimOrFind(attempt, disconnected)
    if ('claim' in place) return processFirst(place, attempt, handle)
    if (place.body !== null) return replyOf(place)
    if (place.taskId === null) throw notStored()
    const reply = await handle({ responseToStore: () => undefined, replayOf: place.taskId })
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
  return { runOnce, mayReplay, close: () => clearInterval(extending) }
}

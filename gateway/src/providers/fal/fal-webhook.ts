import { createHash, createPublicKey, verify, type JsonWebKey, type KeyObject } from 'node:crypto'

import { one } from '../kit/http/classify.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, parseJson, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Delivery } from '../port/video.ts'

export interface FalWebhookSettings {
  /** The JWKS URL of the vendor. */
  jwksUrl: string
  /** The account that webhooks must be for; empty for any. */
  userId: string
}

const keysTtlMs = 24 * 60 * 60 * 1000
/** An unknown key may be new. This interval keeps forged webhooks from causing endless requests for keys. */
const refetchIntervalMs = 60_000
const fetchTimeoutMs = 10_000
const windowSeconds = 300
const keysMax = 16
const idShape = /^[\w.:-]{1,200}$/

/** Creates the reader of this vendor's webhooks, which verifies a webhook and returns its job. */
export function falWebhook(
  settings: FalWebhookSettings,
  clock: { wallMs: () => number; monotonicMs: () => number } = {
    wallMs: Date.now,
    monotonicMs: () => performance.now(),
  },
): (delivery: Delivery) => Promise<{ jobId: string }> {
  const url = new URL(settings.jwksUrl)
  const upstream = upstreamAt({ baseUrl: url.origin, connections: 1 })
  let known: { keys: KeyObject[]; atMs: number } | undefined
  let fetchedAtMs = -Infinity
  let fetching: Promise<KeyObject[]> | undefined

  async function fetchKeys(): Promise<KeyObject[]> {
    fetchedAtMs = clock.monotonicMs()
    // Many callers share this request, so no single signal may abort it.
    const signal = AbortSignal.timeout(fetchTimeoutMs)
    const path = url.pathname + url.search
    const { body } = await upstream.callJson({ what: 'keys', method: 'GET', path, signal })
    const listed = member(body, 'keys')
    if (!Array.isArray(listed)) throw new ProviderFailure('unknown', 'keys answered without a list')
    const keys = listed.flatMap(keyOf).slice(0, keysMax)
    known = { keys, atMs: clock.monotonicMs() }
    return keys
  }

  /** Concurrent callers share one request. */
  function fetchKeysOnce(): Promise<KeyObject[]> {
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined
    })
    return fetching
  }

  async function currentKeys(): Promise<KeyObject[]> {
    if (known !== undefined && clock.monotonicMs() - known.atMs < keysTtlMs) return known.keys
    return fetchKeysOnce()
  }

  async function isSigned(message: Buffer, signature: Buffer): Promise<boolean> {
    if (fits(await currentKeys(), message, signature)) return true
    if (fetching === undefined && clock.monotonicMs() - fetchedAtMs < refetchIntervalMs) return false
    return fits(await fetchKeysOnce(), message, signature)
  }

  return async ({ headers, body }) => {
    const header = (name: string) => one(headers[`x-fal-webhook-${name}`]) ?? ''
    const [requestId, userId, timestamp] = [header('request-id'), header('user-id'), header('timestamp')]
    const signature = header('signature')
    if (!idShape.test(requestId) || !/^[0-9a-f]{128}$/i.test(signature)) throw notGenuine('is not signed')
    if (
      !/^\d{1,12}$/.test(timestamp) ||
      Math.abs(clock.wallMs() / 1000 - Number(timestamp)) > windowSeconds
    ) {
      throw notGenuine('is not of this time')
    }
    if (settings.userId !== '' && userId !== settings.userId) throw notGenuine('is for another account')
    const digest = createHash('sha256').update(body).digest('hex')
    const message = Buffer.from([requestId, userId, timestamp, digest].join('\n'))
    if (!(await isSigned(message, Buffer.from(signature, 'hex')))) {
      throw notGenuine('is not signed by the vendor')
    }
    // The outcome is never read from a webhook, so a missing payload does not matter.
    const jobId = textOf(member(parseJson(body.toString('utf8')), 'request_id'))
    if (jobId === undefined || !idShape.test(jobId)) throw notGenuine('names no job')
    return { jobId }
  }
}

function notGenuine(why: string): ProviderFailure {
  return new ProviderFailure('rejected', `the delivery ${why}`)
}

/** Tries every key even after a match, so that the time does not reveal which one matched. */
function fits(keys: KeyObject[], message: Buffer, signature: Buffer): boolean {
  return keys.filter((key) => verify(null, message, key, signature)).length > 0
}

/** Ignores other kinds of keys in the JWKS. */
function keyOf(listed: unknown): KeyObject[] {
  if (textOf(member(listed, 'kty')) !== 'OKP' || textOf(member(listed, 'crv')) !== 'Ed25519') return []
  try {
    return [createPublicKey({ key: listed as JsonWebKey, format: 'jwk' })]
  } catch {
    return []
  }
}

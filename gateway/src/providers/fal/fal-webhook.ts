import { createHash, createPublicKey, verify, type JsonWebKey, type KeyObject } from 'node:crypto'

import { one } from '../kit/http/classify.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, parseJson, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Delivery } from '../port/video.ts'

export interface FalWebhookSettings {
  /** Where the vendor publishes the keys that it signs with. */
  jwksUrl: string
  /** The only account whose news count; empty for any. */
  userId: string
}

const keysLiveMs = 24 * 60 * 60 * 1000
/** A key that nobody knows may be new, or nonsense; who sends nonsense must not make us ask without end. */
const askAgainMs = 60_000
const askTimeoutMs = 10_000
const windowSeconds = 300
const keysMax = 16
const idShape = /^[\w.:-]{1,200}$/

/** Makes the reader of this vendor's webhooks: it answers which job a genuine one is about. */
export function falWebhook(
  settings: FalWebhookSettings,
  now: () => number = Date.now,
): (delivery: Delivery) => Promise<{ jobId: string }> {
  const url = new URL(settings.jwksUrl)
  const upstream = upstreamAt({ baseUrl: url.origin, connections: 1 })
  let known: { keys: KeyObject[]; atMs: number } | undefined
  let askedAtMs = -Infinity
  let asking: Promise<KeyObject[]> | undefined

  async function ask(): Promise<KeyObject[]> {
    askedAtMs = now()
    // Many may wait for it, so it is not up to any one of them.
    const signal = AbortSignal.timeout(askTimeoutMs)
    const path = url.pathname + url.search
    const { body } = await upstream.callJson({ what: 'keys', method: 'GET', path, signal })
    const listed = member(body, 'keys')
    if (!Array.isArray(listed)) throw new ProviderFailure('unknown', 'keys answered without a list')
    const keys = listed.flatMap(keyOf).slice(0, keysMax)
    known = { keys, atMs: now() }
    return keys
  }

  /** However many ask at once, the vendor is asked once. */
  function askOnce(): Promise<KeyObject[]> {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }

  async function currentKeys(): Promise<KeyObject[]> {
    if (known !== undefined && now() - known.atMs < keysLiveMs) return known.keys
    return askOnce()
  }

  async function isSigned(message: Buffer, signature: Buffer): Promise<boolean> {
    if (fits(await currentKeys(), message, signature)) return true
    if (asking === undefined && now() - askedAtMs < askAgainMs) return false
    return fits(await askOnce(), message, signature)
  }

  return async ({ headers, body }) => {
    const header = (name: string) => one(headers[`x-fal-webhook-${name}`]) ?? ''
    const [requestId, userId, timestamp] = [header('request-id'), header('user-id'), header('timestamp')]
    const signature = header('signature')
    if (!idShape.test(requestId) || !/^[0-9a-f]{128}$/i.test(signature)) throw notGenuine('is not signed')
    if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now() / 1000 - Number(timestamp)) > windowSeconds) {
      throw notGenuine('is not of this time')
    }
    if (settings.userId !== '' && userId !== settings.userId) throw notGenuine('is for another account')
    const digest = createHash('sha256').update(body).digest('hex')
    const message = Buffer.from([requestId, userId, timestamp, digest].join('\n'))
    if (!(await isSigned(message, Buffer.from(signature, 'hex')))) {
      throw notGenuine('is not signed by the vendor')
    }
    // What a job came to is never read from here, so a payload that is missing or could not be sent is no matter.
    const jobId = textOf(member(parseJson(body.toString('utf8')), 'request_id'))
    if (jobId === undefined || !idShape.test(jobId)) throw notGenuine('names no job')
    return { jobId }
  }
}

function notGenuine(why: string): ProviderFailure {
  return new ProviderFailure('rejected', `the delivery ${why}`)
}

/** Every key is tried, also after one that fits: how long it takes tells nobody which. */
function fits(keys: KeyObject[], message: Buffer, signature: Buffer): boolean {
  return keys.filter((key) => verify(null, message, key, signature)).length > 0
}

/** Keys of other kinds are not for this, whatever else the vendor publishes there. */
function keyOf(listed: unknown): KeyObject[] {
  if (textOf(member(listed, 'kty')) !== 'OKP' || textOf(member(listed, 'crv')) !== 'Ed25519') return []
  try {
    return [createPublicKey({ key: listed as JsonWebKey, format: 'jwk' })]
  } catch {
    return []
  }
}

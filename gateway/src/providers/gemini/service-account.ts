import { sign } from 'node:crypto'
import { Readable } from 'node:stream'

import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, numberOf, parseJson, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'

const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const scope = 'https://www.googleapis.com/auth/cloud-platform'
const askedSeconds = 3600
/** A token is renewed some minutes before it expires. */
const sparedMs = 5 * 60_000
const patienceMs = 15_000

interface ServiceAccount {
  email: string
  keyId: string | undefined
  privateKey: string
  tokenUrl: URL
}

/** Returns a token that is valid for at least some minutes. Concurrent callers share one request. */
export function serviceAccountTokens(keyFile: string): (signal: AbortSignal) => Promise<string> {
  let token: Promise<{ text: string; endsAtMs: number }> | undefined
  let goodUntilMs = 0

  async function renew(): Promise<{ text: string; endsAtMs: number }> {
    const account = serviceAccountIn(keyFile)
    const upstream = upstreamAt({ baseUrl: account.tokenUrl.origin, connections: 1 })
    const form = Buffer.from(
      new URLSearchParams({ grant_type: grant, assertion: assertionOf(account) }).toString(),
    )
    const { body } = await upstream
      .callJson({
        what: 'token',
        method: 'POST',
        path: account.tokenUrl.pathname,
        body: {
          contentType: 'application/x-www-form-urlencoded',
          lengthBytes: form.length,
          stream: Readable.from([form], { objectMode: false }),
        },
        signal: AbortSignal.timeout(patienceMs),
      })
      .catch((error: unknown) => {
        throw failureFor(error)
      })
    const text = textOf(member(body, 'access_token'))
    if (text === undefined) throw new ProviderFailure('not_delivered', 'token answered without a token')
    const seconds = numberOf(member(body, 'expires_in')) ?? askedSeconds
    return { text, endsAtMs: performance.now() + seconds * 1000 - sparedMs }
  }

  return async (signal) => {
    if (token === undefined || performance.now() >= goodUntilMs) {
      const renewed = renew()
      token = renewed
      goodUntilMs = Infinity
      renewed.then(
        ({ endsAtMs }) => {
          goodUntilMs = endsAtMs
        },
        () => {
          token = undefined
        },
      )
    }
    const { text } = await orAborted(token, signal)
    return text
  }
}

/** All callers share the request, so one of them aborting does not stop it. */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(new ProviderFailure('not_delivered', 'token did not come in time'))
    if (signal.aborted) return leave()
    signal.addEventListener('abort', leave, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** A failed token request means that the actual call was not sent. */
function failureFor(error: unknown): unknown {
  if (!(error instanceof ProviderFailure)) return error
  if (error.kind !== 'unauthorized' && error.kind !== 'rejected' && error.kind !== 'moderated') {
    return new ProviderFailure('not_delivered', error.message, {
      retryAfterMs: error.retryAfterMs,
      isLocal: error.isLocal,
    })
  }
  const message = `the service account was refused, see whether its key is still valid: ${error.message}`
  return new ProviderFailure('unauthorized', message, { code: 'upstream_error' })
}

function serviceAccountIn(keyFile: string): ServiceAccount {
  const parsed = parseJson(keyFile)
  const email = textOf(member(parsed, 'client_email'))
  const privateKey = textOf(member(parsed, 'private_key'))
  const tokenUrl = URL.parse(textOf(member(parsed, 'token_uri')) ?? 'https://oauth2.googleapis.com/token')
  if (email === undefined || privateKey === undefined || tokenUrl === null) {
    throw unusable('it must be the JSON of a service account, with client_email and private_key')
  }
  if (tokenUrl.protocol !== 'https:' && !isLoopback(tokenUrl))
    throw unusable('its token_uri must begin with https://')
  return { email, privateKey, tokenUrl, keyId: textOf(member(parsed, 'private_key_id')) }
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

function assertionOf({ email, keyId, privateKey, tokenUrl }: ServiceAccount): string {
  const now = Math.floor(Date.now() / 1000)
  const parts = [
    { alg: 'RS256', typ: 'JWT', kid: keyId },
    { iss: email, scope, aud: tokenUrl.href, iat: now, exp: now + askedSeconds },
  ]
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  try {
    return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`
  } catch {
    throw unusable('its private_key cannot be read')
  }
}

function unusable(why: string): ProviderFailure {
  return new ProviderFailure('unauthorized', `the apiKey of this provider is of no use: ${why}`, {
    code: 'upstream_error',
  })
}

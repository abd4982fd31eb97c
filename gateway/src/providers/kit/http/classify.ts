import { ProviderFailure } from '../../port/failure.ts'
import { member, numberOf, textOf } from '../json/lenient-json.ts'
import {
  type VendorError,
  vendorErrorIn,
  isContentRefused,
  isVoiceRefused,
  lengthCodeOf,
  refusalCodeOf,
} from './vendor-error.ts'

export type AnswerHeaders = Record<string, string | string[] | undefined>

export interface FailedAnswer {
  /** The name of the call in the log: "submit", "poll". */
  what: string
  status: number
  headers: AnswerHeaders
  body: unknown
}

/** Classifies a response outside 2xx. Unlisted ones are `unknown`, which is never repeated. */
export function failureOfAnswer(answer: FailedAnswer, redact: (text: string) => string): ProviderFailure {
  const { status } = answer
  const vendorError = vendorErrorIn(answer.body)
  const message = redact(describe(answer, vendorError))
  if (status === 429 || status === 503) {
    return new ProviderFailure('busy', message, { status, retryAfterMs: retryAfterMs(answer.headers) })
  }
  // Another Kinora gateway states that the job failed for certain.
  const isFinal = vendorError?.code === 'upstream_error' && one(answer.headers['x-should-retry']) === 'false'
  if (status === 502 && isFinal)
    return new ProviderFailure('rejected', message, { status, code: 'upstream_error' })
  if (status < 400 || status > 499 || status === 408) {
    return new ProviderFailure('unknown', message, { status })
  }
  // A submit with the same idempotency key is in progress, so the job may still be created.
  if (status === 409 && /idempoten|request_in_progress/i.test(vendorError?.code ?? '')) {
    return new ProviderFailure('unknown', message, { status, retryAfterMs: retryAfterMs(answer.headers) })
  }

  const code = status === 401 || status === 402 ? 'upstream_error' : refusalCodeOf(vendorError)
  if (code === 'content_policy_violation') return new ProviderFailure('moderated', message, { status, code })
  // Some vendors refuse content with 403 and a code about permissions.
  if (status === 403 && isContentRefused(vendorError)) {
    return new ProviderFailure('moderated', message, { status, code: 'content_policy_violation' })
  }
  // The account was refused, whatever field the vendor names. A 403 without a vendor error comes from a firewall and
  // concerns only this request.
  if (status === 401 || (status === 403 && vendorError !== undefined)) {
    return new ProviderFailure('unauthorized', message, { code: 'upstream_error', status })
  }
  if (isVoiceRefused(vendorError)) {
    return new ProviderFailure('rejected', message, { status, code: 'voice_not_supported' })
  }
  return new ProviderFailure('rejected', message, { status, code: lengthCodeOf(vendorError) ?? code })
}

const busyCode = /rate_?limit|too_?many|overload|busy|capacity|concurren/i
const succeeded = /^(success|succeeded|ok|0|200)$/i

/**
 * Finds a failure in the body of a 2xx response, as some vendors send it. A numeric code is the status that the response
 * should have had.
 */
export function failureInAnswer(
  answer: FailedAnswer,
  redact: (text: string) => string,
): ProviderFailure | undefined {
  const given = textOf(member(answer.body, 'code'))
  const isVendorError = given !== undefined && !succeeded.test(given)
  if (member(answer.body, 'error') === undefined && !isVendorError) return undefined
  const code = vendorErrorIn(answer.body)?.code ?? given ?? ''
  const numbered = /^[45]\d\d$/.test(code) ? Number(code) : undefined
  const status = numbered ?? (busyCode.test(code) ? 429 : 400)
  return failureOfAnswer({ ...answer, status }, redact)
}

/**
 * Classifies a failed response of the built-in provider. Its codes are the public ones and its messages may be shown to
 * callers. Missing weights do not appear by themselves, so that failure is not `busy`.
 */
export function failureOfOurs(answer: FailedAnswer, redact: (text: string) => string): ProviderFailure {
  const vendorError = vendorErrorIn(answer.body)
  const message = redact(describe(answer, vendorError))
  const { status } = answer
  const options = { status, forCaller: vendorError?.message, code: vendorError?.code }
  if (vendorError?.code === 'weights_missing') {
    return new ProviderFailure('rejected', message, { ...options, code: 'service_unavailable' })
  }
  if (status === 429 || status === 503) {
    return new ProviderFailure('busy', message, {
      status,
      forCaller: vendorError?.message,
      retryAfterMs: retryAfterMs(answer.headers),
    })
  }
  // Messages of internal errors are for the log only.
  if (status < 400 || status > 499) {
    return new ProviderFailure('unknown', message, { status })
  }
  const kind = vendorError?.code === 'content_policy_violation' ? 'moderated' : 'rejected'
  return new ProviderFailure(kind, message, options)
}

function describe({ what, status }: FailedAnswer, vendorError: VendorError | undefined): string {
  return [`${what} answered ${status}`, vendorError?.code ?? vendorError?.type, vendorError?.message]
    .filter((part) => part !== undefined)
    .join(': ')
}

const retryAfterMsMax = 24 * 60 * 60 * 1000

/** Reads `retry-after-ms`, or `retry-after` as seconds or a date, which is compared with the vendor's own clock if given. */
export function retryAfterMs(headers: AnswerHeaders): number | undefined {
  const exactMs = numberOf(one(headers['retry-after-ms']))
  if (exactMs !== undefined) return bounded(exactMs)
  const given = one(headers['retry-after'])
  const seconds = numberOf(given)
  if (seconds !== undefined) return bounded(seconds * 1000)
  const atMs = Date.parse(given ?? '')
  const sentAtMs = Date.parse(one(headers['date']) ?? '')
  return Number.isNaN(atMs) ? undefined : bounded(atMs - (Number.isNaN(sentAtMs) ? Date.now() : sentAtMs))
}

function bounded(ms: number): number {
  return Math.min(Math.max(Math.round(ms), 0), retryAfterMsMax)
}

export function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

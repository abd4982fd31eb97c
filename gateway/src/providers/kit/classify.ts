import { ProviderFailure } from '../port/failure.ts'
import { complaintIn, refusalCodeOf } from './complaint.ts'
import { numberOf } from './loose-json.ts'

export type AnswerHeaders = Record<string, string | string[] | undefined>

export interface FailedAnswer {
  /** Which call it was, for the log: "submit", "check". */
  what: string
  status: number
  headers: AnswerHeaders
  body: unknown
}

/** What an answer outside 2xx means for the job. Unlisted answers are `unknown`, which is never repeated. */
export function failureOfAnswer(answer: FailedAnswer, redact: (text: string) => string): ProviderFailure {
  const { status } = answer
  const complaint = complaintIn(answer.body)
  const message = redact(
    [`${answer.what} answered ${status}`, complaint?.code ?? complaint?.type, complaint?.message]
      .filter((part) => part !== undefined)
      .join(': '),
  )
  if (status === 429 || status === 503) {
    return new ProviderFailure('busy', message, { retryAfterMs: retryAfterMs(answer.headers) })
  }
  if (status < 400 || status > 499 || status === 408) return new ProviderFailure('unknown', message)
  // A submit under the same key is still being worked on: the job may well come to exist.
  if (status === 409 && /idempoten/i.test(complaint?.code ?? ''))
    return new ProviderFailure('unknown', message)

  const code = status === 401 || status === 402 ? 'upstream_error' : refusalCodeOf(complaint)
  if (code === 'content_policy_violation') return new ProviderFailure('moderated', message, { code })
  // Our account was refused, whatever field the vendor names.
  if (status === 403) return new ProviderFailure('rejected', message, { code: 'upstream_error' })
  return new ProviderFailure('rejected', message, { code })
}

const longestRetryAfterMs = 24 * 60 * 60 * 1000

/** When the vendor wants to hear from us again: milliseconds where it says so, else seconds or a date. */
export function retryAfterMs(headers: AnswerHeaders, nowMs: number = Date.now()): number | undefined {
  const exactMs = numberOf(one(headers['retry-after-ms']))
  if (exactMs !== undefined) return bounded(exactMs)
  const given = one(headers['retry-after'])
  const seconds = numberOf(given)
  if (seconds !== undefined) return bounded(seconds * 1000)
  const atMs = Date.parse(given ?? '')
  return Number.isNaN(atMs) ? undefined : bounded(atMs - nowMs)
}

function bounded(ms: number): number {
  return Math.min(Math.max(Math.round(ms), 0), longestRetryAfterMs)
}

export function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

import { type FailedAnswer, failureOfAnswer } from '../kit/http/classify.ts'
import type { VendorError } from '../kit/http/vendor-error.ts'
import { member, numberOf, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'

/** Operations have numeric codes where responses have names. */
const statusWords: Record<number, string> = {
  3: 'INVALID_ARGUMENT',
  5: 'NOT_FOUND',
  7: 'PERMISSION_DENIED',
  8: 'RESOURCE_EXHAUSTED',
  9: 'FAILED_PRECONDITION',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
  16: 'UNAUTHENTICATED',
}

/** One code covers all invalid requests, so the reason must be read from the message. */
const aboutContent =
  /responsible ai|usage guidelines|safety (filter|setting|polic|system|reason)|prohibited (use|content)|content polic|sensitive words|violat\w+ .{0,60}(polic|guideline|practice)/i
const aboutKey = /api[ _-]?key|credential|billing/i
const invalidKey = /api[ _-]?key (not valid|expired|not found)/i
const aboutImage =
  /(process|read|decode|invalid|unsupported|corrupt).{0,40}\bimages?\b|\bimages?\b.{0,60}(invalid|unsupported|not supported|could not|cannot|corrupt|too (large|small))/i

/** Converts the vendor's error to the common format. */
export function vendorErrorOf(error: unknown): VendorError | undefined {
  if (error === undefined) return undefined
  const message = textOf(member(error, 'message'))
  return {
    code: codeOf(wordIn(error), reasonIn(error), message ?? ''),
    type: undefined,
    field: undefined,
    message,
  }
}

function wordIn(error: unknown): string | undefined {
  return textOf(member(error, 'status')) ?? statusWords[numberOf(member(error, 'code')) ?? 0]
}

function reasonIn(error: unknown): string | undefined {
  return detailsOf(error)
    .map((detail) => textOf(member(detail, 'reason')))
    .find((word) => word !== undefined)
}

function codeOf(word: string | undefined, reason: string | undefined, message: string): string | undefined {
  if (aboutContent.test(message)) return 'content_policy_violation'
  if (word !== 'INVALID_ARGUMENT') return reason ?? word
  if (aboutKey.test(`${reason} ${message}`)) return reason ?? 'credential_refused'
  return aboutImage.test(message) ? 'invalid_image' : word
}

/** Classifies a response outside 2xx. */
export function failureOfGemini(answer: FailedAnswer, redact: (text: string) => string): ProviderFailure {
  const error = errorIn(answer.body)
  if (error === undefined) return failureOfAnswer(answer, redact)
  const delay = detailsOf(error)
    .map((detail) => numberOf(textOf(member(detail, 'retryDelay'))?.replace(/s$/, '')))
    .find((seconds) => seconds !== undefined)
  // The retry delay is in the body, not in a header.
  const headers = { ...(delay !== undefined && { 'retry-after': String(delay) }), ...answer.headers }
  const failure = failureOfAnswer({ ...answer, headers, body: { error: vendorErrorOf(error) } }, redact)
  return isKeyRefused(error)
    ? new ProviderFailure('unauthorized', failure.message, { code: 'upstream_error' })
    : failure
}

/** An invalid key is a 400 with INVALID_ARGUMENT. */
function isKeyRefused(error: unknown): boolean {
  if (wordIn(error) !== 'INVALID_ARGUMENT') return false
  return reasonIn(error) === 'API_KEY_INVALID' || invalidKey.test(textOf(member(error, 'message')) ?? '')
}

/** Returns the error of a response; streams may wrap it in a list. */
export function errorIn(body: unknown): unknown {
  return member(Array.isArray(body) ? body[0] : body, 'error')
}

function detailsOf(error: unknown): unknown[] {
  const details = member(error, 'details')
  return Array.isArray(details) ? details : []
}

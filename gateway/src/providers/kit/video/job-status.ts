import { ProviderFailure } from '../../port/failure.ts'
import type { VideoJobStatus } from '../../port/video.ts'
import type { AnswerHeaders } from '../http/classify.ts'
import { vendorErrorIn, refusalCodeOf } from '../http/vendor-error.ts'
import { pollAfterMs, jobIn, progressIn, statusTextIn } from './job-response.ts'
import { resultLinkIn } from './result-link.ts'

export interface StatusReading {
  isDone: (status: string) => boolean
  isRefused: (status: string) => boolean
  /** Whether the response has the URL of the video, or the protocol has a fixed one. */
  results: 'link' | 'bytes'
  redact: (text: string) => string
}

/** Reads a status response of the common video protocols; an unknown status means running. */
export function statusIn(
  answer: { headers: AnswerHeaders; body: unknown },
  { isDone, isRefused, results, redact }: StatusReading,
): VideoJobStatus {
  const job = jobIn(answer.body)
  const vendorError = vendorErrorIn(job) ?? vendorErrorIn(answer.body)
  const status = statusTextIn(job)
  if (status === undefined) {
    if (/not_?(found|exist)/i.test(vendorError?.code ?? '')) return { kind: 'missing' }
    throw new ProviderFailure('unknown', 'poll answered without a status')
  }
  if (isRefused(status)) {
    const parts = [status, vendorError?.code, vendorError?.message].filter((part) => part !== undefined)
    return { kind: 'refused', code: refusalCodeOf(vendorError), message: redact(parts.join(': ')) }
  }
  if (!isDone(status)) {
    return { kind: 'running', progress: progressIn(job), pollAfterMs: pollAfterMs(answer.headers) }
  }
  if (results === 'bytes') return { kind: 'done', result: null }
  const url = resultLinkIn(job)
  if (url !== undefined) return { kind: 'done', result: { url } }
  return { kind: 'refused', code: 'upstream_error', message: `${status} without a result URL` }
}

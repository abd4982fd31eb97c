import { ProviderFailure } from '../../port/failure.ts'
import type { VideoJobStatus } from '../../port/video.ts'
import type { AnswerHeaders } from '../http/classify.ts'
import { vendorErrorIn, refusalCodeOf } from '../http/vendor-error.ts'
import { pollAfterMs, jobIn, progressIn, stateWordIn } from './job-response.ts'
import { resultLinkIn } from './result-link.ts'

export interface StatusReading {
  isDone: (word: string) => boolean
  isRefused: (word: string) => boolean
  /** Where a finished video is: at an address in the reply, or where the protocol has all of them. */
  results: 'link' | 'bytes'
  redact: (text: string) => string
}

/** What a status reply of the common video protocols says; a word that nobody knows means that the job is running. */
export function statusIn(
  answer: { headers: AnswerHeaders; body: unknown },
  { isDone, isRefused, results, redact }: StatusReading,
): VideoJobStatus {
  const job = jobIn(answer.body)
  const vendorError = vendorErrorIn(job) ?? vendorErrorIn(answer.body)
  const word = stateWordIn(job)
  if (word === undefined) {
    if (/not_?(found|exist)/i.test(vendorError?.code ?? '')) return { kind: 'missing' }
    throw new ProviderFailure('unknown', 'check answered without a status')
  }
  if (isRefused(word)) {
    const said = [word, vendorError?.code, vendorError?.message].filter((part) => part !== undefined)
    return { kind: 'refused', code: refusalCodeOf(vendorError), message: redact(said.join(': ')) }
  }
  if (!isDone(word)) {
    return { kind: 'running', progress: progressIn(job), pollAfterMs: pollAfterMs(answer.headers) }
  }
  if (results === 'bytes') return { kind: 'done', result: null }
  const url = resultLinkIn(job)
  if (url !== undefined) return { kind: 'done', result: { url } }
  return { kind: 'refused', code: 'upstream_error', message: `${word} without an address of the result` }
}

import type { PostResponse } from '../../safe-fetch/safe-post.ts'

/** What becomes of a delivery after an attempt. */
export type Verdict =
  /** The receiver has it. */
  | { kind: 'delivered' }
  /** The receiver does not have it; try again, and not before `retryAfterSeconds`. */
  | { kind: 'retry'; retryAfterSeconds: number }
  /** The receiver does not want this message. */
  | { kind: 'rejected' }
  /** The receiver no longer wants messages. */
  | { kind: 'gone' }

const gone = 410

/** Reads `Retry-After`: seconds, or a date relative to that of the response. */
const readRetryAfter = ({ headers }: PostResponse): number => {
  const text = headers['retry-after']?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text)
  const date = Date.parse(text)
  const sent = Date.parse(headers['date'] ?? '')
  if (Number.isNaN(date) || Number.isNaN(sent)) return 0
  return Math.max(0, (date - sent) / 1000)
}

/** Only 2xx is a success: a redirect is not followed, because it would send the message to somebody else. */
export const judgeResponse = (response: PostResponse): Verdict => {
  const { status, headers } = response
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === gone) return { kind: 'gone' }
  if (headers['webhook-delivery']?.trim().toLowerCase() === 'abort-message') return { kind: 'rejected' }
  return { kind: 'retry', retryAfterSeconds: readRetryAfter(response) }
}

/** The headers of an error response that tell a client library whether and when to send the request again. */
import { errors, mayRetry, type ApiError } from '@kinora/contract/errors'

/** Client libraries ignore a longer wait, and would send the request again after half a second. */
const retryAfterSecondsMax = 60
/** Clients that were refused at the same time should not all come back at the same time. */
const jitterShare = 0.1

const millisecondsOf = (seconds: number) => {
  const ms = Math.ceil(seconds * 1000 * (1 + Math.random() * jitterShare))
  return String(seconds <= retryAfterSecondsMax ? Math.min(ms, retryAfterSecondsMax * 1000) : ms)
}

/** The headers of an error, with `retry-after-ms` beside a `retry-after`, and `x-should-retry`. */
export const withRetryHeaders = ({
  code,
  headers,
}: Pick<ApiError, 'code' | 'headers'>): Record<string, string> => {
  const retryAfter = headers['retry-after'] ?? (errors[code].status === 503 ? '1' : undefined)
  const seconds = Number(retryAfter ?? 0)
  const isWorthIt = mayRetry(code) && seconds <= retryAfterSecondsMax
  return {
    'x-should-retry': String(isWorthIt),
    ...(retryAfter !== undefined && { 'retry-after': retryAfter, 'retry-after-ms': millisecondsOf(seconds) }),
    ...headers,
  }
}

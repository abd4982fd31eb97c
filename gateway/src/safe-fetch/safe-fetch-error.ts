/**
 * The reasons why a fetch failed.
 *
 * - `blocked`: the URL, or a redirect target, is not allowed. Nothing was sent there.
 * - `unreachable`: no such host, no connection, or the connection broke.
 * - `too_large`: the body exceeds the size limit of the caller.
 * - `bad_status`: the response is not a plain 200.
 * - `timeout`: one of the time limits was exceeded.
 */
type SafeFetchReason = 'blocked' | 'unreachable' | 'too_large' | 'bad_status' | 'timeout'

/**
 * Messages are parts of sentences for the person who chose the URL. They never contain a resolved address, nor tell a name
 * that resolves to a private address from one that does not exist: that would show the names of a private network.
 */
export class SafeFetchError extends Error {
  readonly reason: SafeFetchReason
  /** The HTTP status, for `bad_status`. */
  readonly status: number | undefined

  constructor(reason: SafeFetchReason, message: string, options?: { cause?: unknown; status?: number }) {
    super(message, options)
    this.name = 'SafeFetchError'
    this.reason = reason
    this.status = options?.status
  }
}

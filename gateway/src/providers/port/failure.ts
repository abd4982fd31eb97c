/**
 * How a call to a provider can go wrong. The kind alone decides what happens next; nothing ever
 * looks at the message, which is for the operator's log and never reaches a caller.
 *
 * - `not_delivered`: the provider certainly did not take the job (refused connection, DNS). May be tried again.
 * - `busy`: the provider said "not now" (429, 503). May be tried again, after `retryAfterMs` where given.
 * - `rejected`: the provider refused this job for good.
 * - `moderated`: the provider refused it for its content.
 * - `unknown`: it may or may not have taken the job (time-out, cut connection). Never repeated blindly.
 */
export type FailureKind = 'not_delivered' | 'busy' | 'rejected' | 'moderated' | 'unknown'

export class ProviderFailure extends Error {
  readonly kind: FailureKind
  readonly retryAfterMs: number | undefined
  /** One of the public error codes, where the provider said precisely what was wrong. */
  readonly code: string | undefined
  /** A sentence that may be shown to the caller as it is; only a provider of our own gives one. */
  readonly forCaller: string | undefined

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      retryAfterMs?: number | undefined
      code?: string | undefined
      forCaller?: string | undefined
      cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ProviderFailure'
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs
    this.code = options.code
    this.forCaller = options.forCaller
  }
}

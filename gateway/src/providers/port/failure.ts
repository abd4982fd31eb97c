/**
 * How a call to a provider can go wrong. The kind alone decides what happens next; nothing ever
 * looks at the message, which is for the operator's log and never reaches a caller.
 *
 * - `not_delivered`: the provider certainly did not take the job (refused connection, DNS). May be tried again.
 * - `busy`: the provider said "not now" (429, 503). May be tried again, after `retryAfterMs` where given.
 * - `unauthorized`: the provider refused our credential (401, most 403), whatever the job. Another provider may be asked.
 * - `rejected`: the provider refused this job for good.
 * - `moderated`: the provider refused it for its content.
 * - `unknown`: it may or may not have taken the job (time-out, cut connection). Never repeated blindly.
 */
export type FailureKind = 'not_delivered' | 'busy' | 'unauthorized' | 'rejected' | 'moderated' | 'unknown'

const turnedAway = new Set<FailureKind>(['not_delivered', 'busy', 'unauthorized'])

export class ProviderFailure extends Error {
  readonly kind: FailureKind
  readonly retryAfterMs: number | undefined
  /** One of the public error codes, where the provider said precisely what was wrong. */
  readonly code: string | undefined
  /** The HTTP status of the answer, where it tells more than the kind. */
  readonly status: number | undefined
  /** A sentence that may be shown to the caller as it is; only a provider of our own gives one. */
  readonly forCaller: string | undefined

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      retryAfterMs?: number | undefined
      code?: string | undefined
      forCaller?: string | undefined
      status?: number | undefined
      cause?: unknown
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ProviderFailure'
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs
    this.code = options.code
    this.forCaller = options.forCaller
    this.status = options.status
  }
}

/** Whether the provider certainly did nothing, for a reason that is not in the job: another may take it, or this one later. */
export const isTurnedAway = ({ kind }: ProviderFailure): boolean => turnedAway.has(kind)

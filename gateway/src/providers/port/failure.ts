/**
 * The kinds of provider failures. Only the kind decides what happens next. The message may quote the
 * vendor, and with it the job: it is for the task's attempts, and reaches neither a caller nor the log.
 *
 * - `not_delivered`: the provider certainly did not accept the job (refused connection, DNS). May be retried.
 * - `busy`: the provider has no capacity now (429, 503). May be retried, after `retryAfterMs` if given.
 * - `unauthorized`: the provider refused our credential (401, most 403), whatever the job. Another provider may be used.
 * - `rejected`: the provider refused this job permanently.
 * - `moderated`: the provider refused the job because of its content.
 * - `unknown`: the provider may or may not have accepted the job (timeout, cut connection). Never retried blindly.
 */
export type FailureKind = 'not_delivered' | 'busy' | 'unauthorized' | 'rejected' | 'moderated' | 'unknown'

/** The largest result that is stored. */
export const resultBytesMax = 2 * 1024 ** 3

const retryable = new Set<FailureKind>(['not_delivered', 'busy', 'unauthorized'])

export class ProviderFailure extends Error {
  readonly kind: FailureKind
  readonly retryAfterMs: number | undefined
  /** A public error code, if the provider reported a precise reason. */
  readonly code: string | undefined
  /** The HTTP status of the response; undefined without one. */
  readonly status: number | undefined
  /** A message that may be shown to the caller unchanged; only the built-in provider gives one. */
  readonly forCaller: string | undefined
  /** Whether this process caused the failure, for instance without free file descriptors. It says nothing about the provider. */
  readonly isLocal: boolean

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      retryAfterMs?: number | undefined
      code?: string | undefined
      forCaller?: string | undefined
      status?: number | undefined
      isLocal?: boolean | undefined
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
    this.isLocal = options.isLocal ?? false
  }
}

/** The result of a job is larger than `resultBytesMax`. Another download would not change that. */
export class ResultTooLarge extends ProviderFailure {
  constructor(what: string) {
    super('rejected', `${what} answered with more than ${resultBytesMax} bytes`, { code: 'upstream_error' })
  }
}

/** The provider certainly did nothing, for a reason outside of the job: another provider, or a later attempt, may succeed. */
export const isRetryable = ({ kind }: ProviderFailure): boolean => retryable.has(kind)

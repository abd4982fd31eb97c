/** A render that cannot succeed, with the code the caller is told. */
export class RenderFailure extends Error {
  readonly code: string
  /** For the log only: it may hold file names and tool output. */
  readonly detail: string | undefined

  constructor(code: string, message: string, options: { detail?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'RenderFailure'
    this.code = code
    this.detail = options.detail
  }
}

/** A render failure, with the code that the job reports. */
export class RenderFailure extends Error {
  readonly code: string
  /** For the log only: it may contain file names and tool output. */
  readonly detail: string | undefined

  constructor(code: string, message: string, options: { detail?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'RenderFailure'
    this.code = code
    this.detail = options.detail
  }
}

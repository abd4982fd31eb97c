/** What the sandbox itself reports, in the output of a program. The rest of the output quotes the file. */
export const sandboxProblemIn = (output: string): string =>
  output.startsWith('bwrap: ') ? output.trim() : ''

/** The type of an error and its place in the code, without the message. */
export const placeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error
  const { name, message, stack = '' } = error
  const frames = stack.slice(stack.indexOf(message) + message.length).split('\n')
  return [name, ...frames.filter((line) => /^ {4}at .*:\d+\)?$/.test(line))].join('\n')
}

/** A render failure, with the code that the job reports. */
export class RenderFailure extends Error {
  readonly code: string
  /** For the log only. It never has the output of a program that read a file, because that quotes the file. */
  readonly detail: string | undefined

  constructor(code: string, message: string, options: { detail?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'RenderFailure'
    this.code = code
    this.detail = options.detail
  }
}

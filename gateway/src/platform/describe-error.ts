/**
 * What a log may contain of an error. Messages are left out: those of the database, of a vendor, of a program or of a
 * parser quote what a caller has sent, and so do other fields of errors. What is kept are types, codes, and the places in
 * the code, which lead to the text of the message.
 */
interface DescribedError {
  type: string
  code?: string | number
  /** How a provider failed, or a download. */
  kind?: string
  /** The HTTP status of a response. */
  status?: number
  syscall?: string
  /** Names in the schema of the database, and the function of PostgreSQL that reported the error. */
  severity?: string
  table?: string
  column?: string
  constraint?: string
  routine?: string
  /** What an `ApiError` tells operators, which its throw site has written for the log. */
  detail?: string
  message?: string
  stack: string
  cause?: DescribedError
  errors?: DescribedError[]
}

/** An error whose message is made of types, codes and places, so that it can be stored and logged as it is. */
export class DescribedFailure extends Error {
  override name = 'DescribedFailure'
}

const nestedMax = 5
const framesMax = 20
const token = /^[\w$.-]{1,64}$/
const frame = /^ {4}at .*(?:\b\w[\w.-]*:\d+(?::\d+)?|<anonymous>|native)\)?$/

// The driver's own errors have no codes.
const driverMessage =
  /^(?:timeout exceeded when trying to connect|timeout expired|Query read timeout|Connection terminated(?: unexpectedly| due to connection timeout)?|Client (?:has encountered a connection error and is not queryable|was closed and is not queryable))$/
/** The first word of an error of Redis is its code. */
const redisCode = /^[A-Z]{3,20}\b/

const tokenOf = (value: unknown): string | undefined =>
  typeof value === 'string' && token.test(value) ? value : undefined
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** The frames of a stack without the message, which may have lines that look like frames. */
const framesOf = ({ stack, message }: Error): string => {
  if (typeof stack !== 'string') return ''
  const at = message === '' ? -1 : stack.indexOf(message)
  const [, ...lines] = stack.slice(at < 0 ? 0 : at + message.length).split('\n')
  return lines
    .filter((line) => frame.test(line))
    .slice(0, framesMax)
    .join('\n')
}

const messageOf = (error: Error): string | undefined =>
  error instanceof DescribedFailure || driverMessage.test(error.message) ? error.message : undefined

const codeOf = (error: Error): string | number | undefined => {
  const { code } = error as { code?: unknown }
  if (error.name === 'ReplyError') return redisCode.exec(error.message)?.[0]
  return numberOf(code) ?? tokenOf(code)
}

/** Errors of PostgreSQL have a severity and an SQLSTATE. */
const isOfDatabase = (error: Error): boolean => {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof severity === 'string' && typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)
}

const ofDatabase = (error: Error) => {
  if (!isOfDatabase(error)) return {}
  const names = ['severity', 'table', 'column', 'constraint', 'routine'] as const
  const given = error as Partial<Record<(typeof names)[number], unknown>>
  return Object.fromEntries(names.map((name) => [name, tokenOf(given[name])]))
}

const detailOf = (error: Error): string | undefined => {
  const { detail } = error as { detail?: unknown }
  // Only an `ApiError` has this detail; that of the database quotes rows.
  return error.name === 'ApiError' && typeof detail === 'string' ? detail : undefined
}

const typeOf = (error: Error): string =>
  isOfDatabase(error) ? 'DatabaseError' : (tokenOf(error.name) ?? 'Error')

const describe = (error: unknown, nested: number): DescribedError => {
  if (!(error instanceof Error)) return { type: typeof error, stack: '' }
  const { cause, errors, kind, reason, status, statusCode, syscall, $metadata } = error as {
    cause?: unknown
    errors?: unknown
    kind?: unknown
    reason?: unknown
    status?: unknown
    statusCode?: unknown
    syscall?: unknown
    $metadata?: { httpStatusCode?: unknown }
  }
  const described = {
    type: typeOf(error),
    code: codeOf(error),
    kind: tokenOf(kind) ?? (error.name === 'SafeFetchError' ? tokenOf(reason) : undefined),
    status: numberOf(status) ?? numberOf(statusCode) ?? numberOf($metadata?.httpStatusCode),
    syscall: tokenOf(syscall),
    ...ofDatabase(error),
    detail: detailOf(error),
    message: messageOf(error),
    stack: framesOf(error),
    ...(nested < nestedMax && {
      cause: cause === undefined ? undefined : describe(cause, nested + 1),
      errors: Array.isArray(errors)
        ? errors.slice(0, nestedMax).map((each: unknown) => describe(each, nested + 1))
        : undefined,
    }),
  }
  return Object.fromEntries(
    Object.entries(described).filter(([, value]) => value !== undefined),
  ) as unknown as DescribedError
}

/** Describes an error for the log. Anything else that was thrown is only named by its type. */
export const describeError = (error: unknown): DescribedError => describe(error, 0)

/** One line about an error: type and codes, and the place for an error without codes. */
export const summarizeError = (error: unknown): string => {
  const { type, code, kind, status, constraint, message, stack } = describeError(error)
  if (error instanceof DescribedFailure) return error.message
  const parts = [kind, code, status, constraint, message].filter((part) => part !== undefined)
  const [place = ''] = stack.split('\n')
  return [type, ...(parts.length > 0 ? parts : [place.trim()])].join(' ').trim()
}

/** A copy of an error that the engine may store: it has the places in the code, and no message. */
export const reduceError = (error: unknown): DescribedFailure => {
  const reduced = new DescribedFailure(summarizeError(error))
  reduced.stack = `${reduced.message}\n${describeError(error).stack}`
  return reduced
}

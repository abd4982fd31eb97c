import type { ErrorCode, TaskErrorCode } from './generated/error-codes.ts'

/** Codes of errors that have no response: the connection, the time limit, and what this runtime cannot do. */
export type ClientErrorCode = 'connection_failed' | 'timeout' | 'invalid_response' | 'not_supported'

/** Every code that this version knows. A newer service may send others. */
export type KinoraErrorCode = ErrorCode | TaskErrorCode | ClientErrorCode

export interface KinoraErrorDetails {
  /** Status of the response. */
  status?: number
  type?: string
  /** The invalid or missing parameter. */
  param?: string
  /** How to fix errors with this code. */
  hint?: string
  docUrl?: string
  /** Id of the request. Operators find the request by it. */
  requestId?: string
  /** After how many seconds the service asks to send the request again. */
  retryAfter?: number
  /** Whether the service says that sending the request again can succeed. */
  shouldRetry?: boolean
  /** The task that failed, or that goes on without this program. */
  taskId?: string
}

/** Every error of this package, except the reason of an abort. Decide by `code`. */
export class KinoraError extends Error implements KinoraErrorDetails {
  override readonly name = 'KinoraError'
  readonly code: KinoraErrorCode | (string & {})
  declare readonly status?: number
  declare readonly type?: string
  declare readonly param?: string
  declare readonly hint?: string
  declare readonly docUrl?: string
  declare readonly requestId?: string
  declare readonly retryAfter?: number
  declare readonly shouldRetry?: boolean
  declare readonly taskId?: string

  constructor(
    code: KinoraErrorCode | (string & {}),
    message: string,
    details: KinoraErrorDetails = {},
    options: ErrorOptions = {},
  ) {
    super(message, options)
    this.code = code
    Object.assign(this, details)
  }
}

/** Whether it is an error of this package, with this code if one is given. */
export const isKinoraError = (error: unknown, code?: KinoraErrorCode): error is KinoraError =>
  error instanceof KinoraError && (code === undefined || error.code === code)

/** The time that a response asks to wait, in milliseconds. */
const readRetryAfterMs = (headers: Headers): number | undefined => {
  const exactMs = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (exactMs >= 0) return exactMs
  const given = headers.get('retry-after')
  if (given === null) return undefined
  const seconds = Number(given)
  if (seconds >= 0) return seconds * 1000
  // Compared with the clock of the server, because that of this machine may be wrong.
  const waitMs = Date.parse(given) - Date.parse(headers.get('date') ?? '')
  return waitMs >= 0 ? waitMs : undefined
}

/** The body of an error response, and the data of an event `error`. */
interface ErrorBody {
  error?: {
    code?: string
    message?: string
    type?: string
    param?: string | null
    hint?: string
    doc_url?: string
    request_id?: string
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The error that a body describes. A proxy in between sends bodies of its own. */
export const readErrorBody = (text: string, details: KinoraErrorDetails = {}): KinoraError => {
  const { error } = (parseJson(text) ?? {}) as ErrorBody
  const known = typeof error === 'object' ? error : undefined
  const fallback = `The response has the status ${details.status} and no error object: ${text.slice(0, 200)}`
  const requestId = known?.request_id ?? details.requestId
  return new KinoraError(known?.code ?? 'invalid_response', known?.message ?? fallback, {
    ...details,
    ...(known?.type !== undefined && { type: known.type }),
    ...(typeof known?.param === 'string' && { param: known.param }),
    ...(known?.hint !== undefined && { hint: known.hint }),
    ...(known?.doc_url !== undefined && { docUrl: known.doc_url }),
    ...(requestId !== undefined && { requestId }),
  })
}

export const readErrorResponse = async (response: Response): Promise<KinoraError> => {
  const { headers, status } = response
  const text = await response.text().catch(() => '')
  const requestId = headers.get('x-request-id')
  const waitMs = readRetryAfterMs(headers)
  const shouldRetry = headers.get('x-should-retry')
  return readErrorBody(text, {
    status,
    ...(requestId !== null && { requestId }),
    ...(waitMs !== undefined && { retryAfter: waitMs / 1000 }),
    ...(shouldRetry !== null && { shouldRetry: shouldRetry === 'true' }),
  })
}

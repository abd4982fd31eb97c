/** Turns every error into the one error object of the API. No other file writes error bodies or error events. */
import { STATUS_CODES, type ServerResponse } from 'node:http'

import { ApiError, errors, type ErrorCode } from '@kinora/contract/errors'
import { operations } from '@kinora/contract/operations'
import type { TaskErrorCode } from '@kinora/contract/task-errors'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'

import { summarizeError } from '../platform/describe-error.ts'
import type { Log } from '../platform/log.ts'
import {
  CommitOutcomeUnknown,
  isDatabaseUnavailable,
  isLockTimeout,
  isStatementCancelled,
  StatementTimeout,
} from '../platform/postgres-errors.ts'
import { withRetryHeaders } from './retry-headers.ts'

/**
 * Writes the body of an error, as JSON. The error of a failed task may have a code that no response has; it then
 * replaces that of the similar error.
 */
export type WriteError = (error: ApiError, taskCode?: TaskErrorCode) => string

/** Creates the writer of the errors of one request. It refers to nothing else of the request, because streams live long. */
export const createErrorWriter =
  (publicUrl: string, requestId: string): WriteError =>
  ({ message, code: responseCode, param }, taskCode) => {
    const code = taskCode ?? responseCode
    const { type, hint } = errors[responseCode]
    return JSON.stringify({
      error: {
        message,
        type,
        code,
        ...(param !== undefined && { param }),
        hint,
        doc_url: `${publicUrl}${operations.getErrorDocs.path}#${code}`,
        request_id: requestId,
      },
    })
  }

const codesOfFramework: Partial<Record<string, ErrorCode>> = {
  FST_ERR_BAD_URL: 'endpoint_not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'endpoint_not_found',
  FST_ERR_CTP_BODY_TOO_LARGE: 'request_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'invalid_request',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
}

export const apiErrorOf = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error
  const known = error as Partial<FastifyError>
  const code = known.code === undefined ? undefined : codesOfFramework[known.code]
  if (code !== undefined) return new ApiError(code, { cause: error })
  if (error instanceof StatementTimeout) {
    return new ApiError('invalid_parameter', {
      message: 'This query takes too long. Request a shorter time span.',
      param: 'from',
      cause: error,
    })
  }
  if (error instanceof CommitOutcomeUnknown) {
    return new ApiError('service_unavailable', {
      message:
        'The database did not confirm this request; it may have been carried out. Check before you send it again, or repeat it with the same Idempotency-Key.',
      cause: error,
      headers: { 'retry-after': '1' },
    })
  }
  // The database is unavailable or too slow for now, which is not a bug; any other unknown error is an internal error.
  if (isDatabaseUnavailable(error) || isLockTimeout(error) || isStatementCancelled(error))
    return new ApiError('service_unavailable', {
      cause: error,
      detail: `database: ${summarizeError(error)}`,
      headers: { 'retry-after': '1' },
    })
  if (known.code === 'ENOSPC' || known.code === 'EDQUOT')
    return new ApiError('service_unavailable', {
      message: 'This server has too little disk space at the moment. Try again later.',
      cause: error,
      detail: `disk: ${known.code}`,
      headers: { 'retry-after': '30' },
    })
  if (known.statusCode !== undefined && known.statusCode >= 400 && known.statusCode < 500) {
    return new ApiError('invalid_request', { cause: error })
  }
  return new ApiError('internal_error', { cause: error })
}

/**
 * Work that was aborted, or a body that was closed early, because its client disconnected has not failed; only the request
 * log sees this response.
 */
const isAbandoned = (thrown: unknown, { raw }: FastifyReply) => {
  const { name, code } = (thrown ?? {}) as { name?: unknown; code?: unknown }
  return raw.destroyed && (name === 'AbortError' || code === 'ERR_STREAM_PREMATURE_CLOSE')
}

export const sendProblem =
  (log: Log, publicUrl: string) => (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = isAbandoned(thrown, reply)
      ? new ApiError('invalid_request', { message: 'The client closed the connection.', cause: thrown })
      : apiErrorOf(thrown)
    const { status } = errors[error.code]
    if (error.code === 'internal_error') log.error({ err: thrown, requestId: request.id }, 'request.failed')
    request.problem = error
    return reply
      .status(status)
      .headers(withRetryHeaders(error))
      .type('application/json; charset=utf-8')
      .send(createErrorWriter(publicUrl, request.id)(error))
  }

/** Writes an error response without the framework. */
export const writeProblem = (
  response: ServerResponse,
  error: ApiError,
  writeError: WriteError,
  headers: Record<string, string>,
): void => {
  const body = writeError(error)
  response
    .writeHead(errors[error.code].status, {
      ...headers,
      ...withRetryHeaders(error),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    })
    .end(body)
}

/** The raw text of an error response for a connection without a parsed request. Close the connection after it. */
export const rawProblem = (error: ApiError, publicUrl: string, requestId: string): string => {
  const body = createErrorWriter(publicUrl, requestId)(error)
  const { status } = errors[error.code]
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${requestId}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(withRetryHeaders(error)).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

declare module 'fastify' {
  interface FastifyRequest {
    problem: ApiError | undefined
  }
}

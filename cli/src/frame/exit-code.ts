/** The exit codes of the commands; docs/command-line.md lists them. */
import type { ErrorCode, ErrorType } from '@kinora/contract/errors'

export const exitCodes = {
  failed: 1,
  usage: 2,
  auth: 3,
  quota: 4,
  upstream: 5,
  interrupted: 130,
} as const

export const exitCodeMeanings: Record<number, string> = {
  0: 'done',
  [exitCodes.failed]: 'failed, or not found',
  [exitCodes.usage]: 'the command line or a parameter of the request is wrong',
  [exitCodes.auth]: 'no valid API key, or one that may not do this',
  [exitCodes.quota]: 'balance, quota or rate limit used up',
  [exitCodes.upstream]: 'the service or its provider failed or cannot be reached; try again',
  [exitCodes.interrupted]: 'interrupted with Ctrl-C',
}

const byType: Record<ErrorType, number> = {
  authentication_error: exitCodes.auth,
  permission_error: exitCodes.auth,
  billing_error: exitCodes.quota,
  rate_limit_error: exitCodes.quota,
  server_error: exitCodes.upstream,
  content_policy_error: exitCodes.failed,
  invalid_request_error: exitCodes.failed,
}

/** Errors that the caller corrects on the command line. */
const ofUsage: ErrorCode[] = [
  'invalid_request',
  'invalid_parameter',
  'missing_parameter',
  'invalid_image',
  'invalid_file_format',
  'voice_not_supported',
  'model_not_found',
]

/** Of the error of a response, by its `code` and `type`. */
export const exitCodeOf = ({ code, type }: { code?: unknown; type?: unknown }): number => {
  if (ofUsage.includes(code as ErrorCode)) return exitCodes.usage
  return Object.hasOwn(byType, String(type)) ? byType[type as ErrorType] : exitCodes.failed
}

/** Of a task that has failed, whose error has only a code. */
export const exitCodeOfTask = (code: string | undefined): number =>
  code === 'upstream_error' || code === 'task_timeout'
    ? exitCodes.upstream
    : exitCodeOf({ code, type: undefined })

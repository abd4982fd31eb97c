/**
 * Every error the service can answer, in one table. The status and type are here and nowhere else;
 * `message` is what a caller reads when the thrower has nothing more precise to say, `remedy` is the
 * next thing to do about it and goes into the docs page of the code.
 */
import { imageBytesMax } from './limits.ts'

export type ErrorType =
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'invalid_request_error'
  | 'rate_limit_error'
  | 'server_error'
  | 'content_policy_error'

interface ErrorRow {
  status: 400 | 401 | 402 | 403 | 404 | 405 | 409 | 410 | 413 | 416 | 429 | 500 | 502 | 503
  type: ErrorType
  message: string
  remedy: string
}

export const errors = {
  // 401
  missing_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'No API key was sent.',
    remedy: 'Send the header `Authorization: Bearer <your key>`.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key is not valid.',
    remedy: 'Check the key for typing mistakes, or create a new one if it was deleted.',
  },
  expired_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key has expired.',
    remedy: 'Create a new key, or ask the operator to extend this one.',
  },
  invalid_signature: {
    status: 401,
    type: 'authentication_error',
    message: 'This delivery is not signed as its sender signs.',
    remedy: 'Send it as it was signed, within five minutes of signing it, with a key that is published.',
  },
  // 402
  quota_exceeded: {
    status: 402,
    type: 'billing_error',
    message: 'The quota is used up.',
    remedy: "Raise the key's quota, or wait for the subscription's next cycle.",
  },
  insufficient_balance: {
    status: 402,
    type: 'billing_error',
    message: "The account's balance is too low for this request.",
    remedy: 'Top up the account and send the request again.',
  },
  subscription_expired: {
    status: 402,
    type: 'billing_error',
    message: 'The subscription has ended.',
    remedy: 'Renew the subscription, or use a pay-as-you-go key.',
  },
  payment_failed: {
    status: 402,
    type: 'billing_error',
    message: 'The last payment did not go through and the balance is too low.',
    remedy: 'Update the payment method, then top up the account.',
  },
  // 403
  access_denied: {
    status: 403,
    type: 'permission_error',
    message: 'This key may not do that.',
    remedy: 'Use a key that is enabled and made for this kind of request.',
  },
  model_access_denied: {
    status: 403,
    type: 'permission_error',
    message: 'This key may not use that model.',
    remedy: 'Use one of the models that `GET /v1/models` lists for this key.',
  },
  ip_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: "Requests from this address are not on the key's allow-list.",
    remedy: "Call from an allowed address, or add this one to the key's allow-list.",
  },
  account_suspended: {
    status: 403,
    type: 'permission_error',
    message: 'This account is suspended.',
    remedy: "Contact the operator's support.",
  },
  audio_requires_payg: {
    status: 403,
    type: 'permission_error',
    message: 'Audio in chat needs a pay-as-you-go key.',
    remedy: 'Use a pay-as-you-go key, or leave audio out of the request.',
  },
  // 404, 405, 410
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'This model does not exist.',
    remedy: 'Pick a model that `GET /v1/models` lists.',
  },
  endpoint_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is nothing at this path.',
    remedy: 'Check the path against `/openapi.json`.',
  },
  task_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no task with this id.',
    remedy: 'Check the id; tasks are visible to every key of the account that made them.',
  },
  character_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no character with this id.',
    remedy: 'List your characters with `GET /vidB/v1/characters`.',
  },
  resource_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is nothing with this id.',
    remedy: 'Check the id against the list it came from.',
  },
  variant_not_available: {
    status: 404,
    type: 'invalid_request_error',
    message: 'This variant of the video is not available.',
    remedy: 'Use `video`, `thumbnail` or `spritesheet`.',
  },
  media_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no file behind this link.',
    remedy: 'Use the link exactly as it was given, or read the task again for a fresh one.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This path does not take that method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  link_expired: {
    status: 410,
    type: 'invalid_request_error',
    message: 'This link has expired.',
    remedy: 'Read the task again: every read gives a fresh link while the video is kept.',
  },
  media_expired: {
    status: 410,
    type: 'invalid_request_error',
    message: 'This file is past its retention and was removed.',
    remedy: 'Generate the video again, and download results within the retention time.',
  },
  // 400, 413
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request could not be read.',
    remedy: 'Send a well-formed body with the right content type.',
  },
  invalid_parameter: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A parameter has a value that is not allowed.',
    remedy: 'Correct the parameter that `param` names.',
  },
  missing_parameter: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A required parameter is missing.',
    remedy: 'Add the parameter that `param` names.',
  },
  task_not_completed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This task is not completed yet.',
    remedy: 'Read the task until it is completed, then try again.',
  },
  task_failed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This task has failed, so there is no video.',
    remedy: 'Read the task for the reason, and create a new one.',
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The prompt and its context are too long for this model.',
    remedy: 'Shorten the messages, or use a model with a larger context.',
  },
  output_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The output would be longer than the model can give.',
    remedy: 'Ask for less in one request.',
  },
  invalid_image: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The image could not be used.',
    remedy: `Send a whole PNG, JPEG, WebP or GIF of at most ${imageBytesMax / 1_048_576} MB.`,
  },
  voice_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This model does not have that voice.',
    remedy: 'Pick one of the voices listed for the model.',
  },
  invalid_file_format: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This audio format is not supported.',
    remedy: 'Send flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm.',
  },
  content_policy_violation: {
    status: 400,
    type: 'content_policy_error',
    message: 'The request was refused because of its content.',
    remedy: 'Change the prompt or the images so that they follow the usage policy.',
  },
  task_not_failed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'Only a task that failed can be ordered again.',
    remedy: 'Read the task; one that is under way can be cancelled, one that completed is there to be used.',
  },
  idempotency_key_reused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This idempotency key was used for another request.',
    remedy: 'Make a new key for each request, and repeat a request only as it was.',
  },
  request_in_progress: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The first request with this idempotency key is still being answered.',
    remedy: 'Send it again after `Retry-After`; it will be answered with the same reply.',
  },
  conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'This does not fit with how things stand.',
    remedy: 'Read the resource again, and change the request to fit it.',
  },
  file_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The file is too large.',
    remedy:
      'Send a smaller or more compressed file, or create a transcription task, which takes long recordings.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is too large.',
    remedy: 'Send a smaller body; large images go as files, not inside JSON.',
  },
  // 416
  range_not_satisfiable: {
    status: 416,
    type: 'invalid_request_error',
    message: 'The requested range is outside of the file.',
    remedy:
      'Ask for bytes within the size that `Content-Range` tells, or leave `Range` out for the whole file.',
  },
  // 429
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests.',
    remedy: 'Wait as long as `Retry-After` says, then send the request again.',
  },
  // 5xx
  internal_error: {
    status: 500,
    type: 'server_error',
    message: 'Something went wrong on our side. Nothing was charged.',
    remedy: 'Send the request again; if it keeps failing, report the `x-request-id`.',
  },
  upstream_error: {
    status: 502,
    type: 'server_error',
    message: 'The provider behind this model failed.',
    remedy: 'Send the request again; nothing was charged for the failed one.',
  },
  service_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'The service is temporarily unavailable.',
    remedy: 'Wait as long as `Retry-After` says, then send the request again.',
  },
  model_overloaded: {
    status: 503,
    type: 'server_error',
    message: 'This model is overloaded at the moment.',
    remedy: 'Wait as long as `Retry-After` says, or use another model.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errors

/**
 * Why a task ended `failed`: shown as `error.code` on its status. Two of these never answer a request,
 * they only end a task.
 */
export const taskErrors = {
  content_policy_violation: 'The provider refused the prompt or images because of their content.',
  invalid_image: 'A reference image could not be used.',
  invalid_parameter: 'The provider refused a parameter of this request.',
  upstream_error: 'The provider failed to make this video.',
  task_timeout: 'The video was not finished before its deadline.',
  task_cancelled: 'The task was cancelled.',
} as const

export type TaskErrorCode = keyof typeof taskErrors

export interface ApiErrorOptions {
  /** The offending parameter, as a dotted or indexed path. */
  param?: string
  /** For the caller, instead of the table's sentence. */
  message?: string
  /** For the log only. */
  detail?: string
  cause?: unknown
  /** Extra response headers, such as `Retry-After`. */
  headers?: Record<string, string>
}

/** The one error to throw for an answer that is not a success. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly param: string | undefined
  readonly detail: string | undefined
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    super(
      options.message ?? errors[code].message,
      options.cause === undefined ? {} : { cause: options.cause },
    )
    this.name = 'ApiError'
    this.code = code
    this.param = options.param
    this.detail = options.detail
    this.headers = options.headers ?? {}
  }
}

/**
 * All error codes of the API with their status and type. `message` is the default message; `hint` tells how to
 * fix the problem. Both are in the body of an error.
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
  status: 400 | 401 | 402 | 403 | 404 | 405 | 409 | 410 | 413 | 416 | 421 | 429 | 500 | 502 | 503
  type: ErrorType
  message: string
  hint: string
}

export const errors = {
  // 401
  missing_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'No API key. Send `Authorization: Bearer sk-…`.',
    hint: 'Send your key in the header `Authorization: Bearer <your key>`, or in `x-api-key`.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'The API key is invalid.',
    hint: 'Check the key for typos. If it was deleted, create a new one.',
  },
  expired_api_key: {
    status: 401,
    type: 'authentication_error',
    message: 'The API key has expired.',
    hint: 'Use another key, or ask the operator to extend this one.',
  },
  missing_session: {
    status: 401,
    type: 'authentication_error',
    message: 'There is no session of the console: nobody signed in, or the session has ended.',
    hint: 'Sign in to the console again.',
  },
  invalid_signature: {
    status: 401,
    type: 'authentication_error',
    message: 'The signature of this webhook is invalid.',
    hint: 'Sign the unchanged body with a published key, and deliver it within five minutes.',
  },
  // 402
  quota_exceeded: {
    status: 402,
    type: 'billing_error',
    message: 'The quota is used up.',
    hint: "Raise the key's quota, or wait for the next cycle of the subscription.",
  },
  insufficient_balance: {
    status: 402,
    type: 'billing_error',
    message: "The account's balance is too low for this request.",
    hint: 'Top up the account, then send the request again.',
  },
  subscription_expired: {
    status: 402,
    type: 'billing_error',
    message: 'The subscription has ended.',
    hint: 'Renew the subscription, or use a pay-as-you-go key.',
  },
  payment_failed: {
    status: 402,
    type: 'billing_error',
    message: 'The last payment failed, and the balance is too low for this request.',
    hint: 'Update the payment method, then top up the account.',
  },
  // 403
  access_denied: {
    status: 403,
    type: 'permission_error',
    message: 'The key is not allowed to make this request.',
    hint: 'Use a key that is enabled. The admin API requires an operator key with a role that may call the operation, all other endpoints a customer key.',
  },
  insufficient_scope: {
    status: 403,
    type: 'permission_error',
    message: 'The key does not have a scope that allows this operation.',
    hint: 'Use a key with one of the scopes in the message, or add a scope to this key. `GET /v1/me` lists the scopes of a key.',
  },
  model_access_denied: {
    status: 403,
    type: 'permission_error',
    message: 'The key is not allowed to use this model.',
    hint: 'Use one of the models that `GET /v1/models` lists for this key.',
  },
  ip_not_allowed: {
    status: 403,
    type: 'permission_error',
    message: "The IP address of this request is not on the key's allow-list.",
    hint: "Send the request from an allowed address, or add this address to the key's allow-list.",
  },
  account_suspended: {
    status: 403,
    type: 'permission_error',
    message: 'The account is suspended.',
    hint: 'Contact the operator of this service.',
  },
  audio_requires_payg: {
    status: 403,
    type: 'permission_error',
    message: 'Audio requires a pay-as-you-go key, and this is a subscription key.',
    hint: 'Use a pay-as-you-go key, or remove audio from the request.',
  },
  // 404, 405, 410, 421
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'The model does not exist.',
    hint: 'Use one of the models that `GET /v1/models` lists.',
  },
  endpoint_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no endpoint at this path.',
    hint: 'Check the path. `/openapi.json` lists all endpoints.',
  },
  host_not_allowed: {
    status: 421,
    type: 'invalid_request_error',
    message: 'This server does not answer for the host of this request.',
    hint: "Use the server's own address, or add the host to `ALLOWED_HOSTS`.",
  },
  task_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no task with this id.',
    hint: 'Check the id, and use a key of the account that created the task.',
  },
  character_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no character with this id.',
    hint: 'List your characters with `GET /vidB/v1/characters`.',
  },
  resource_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'There is no resource with this id.',
    hint: 'Check the id. The list operation of the resource returns all ids.',
  },
  variant_not_available: {
    status: 404,
    type: 'invalid_request_error',
    message: 'This variant of the video is not available.',
    hint: 'Use `video`. A thumbnail or a spritesheet cannot be made of every file.',
  },
  media_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message: 'This link does not lead to a file: it was changed, shortened or never valid.',
    hint: 'Use the link without changes, or read the task again to get a new link.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'The endpoint does not support this method.',
    hint: 'Use one of the methods in the `Allow` header.',
  },
  link_expired: {
    status: 410,
    type: 'invalid_request_error',
    message: 'This link has expired.',
    hint: 'Get a new link: read the task again, or create another link for signing in.',
  },
  media_expired: {
    status: 410,
    type: 'invalid_request_error',
    message: 'The file was deleted at the end of its retention period.',
    hint: 'Generate it again, and download results within the retention period.',
  },
  // 400, 413
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request is malformed.',
    hint: 'Send a well-formed body with the matching `Content-Type` header.',
  },
  invalid_parameter: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A parameter has an invalid value.',
    hint: 'Correct the parameter that `param` names.',
  },
  missing_parameter: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A required parameter is missing.',
    hint: 'Add the parameter that `param` names.',
  },
  task_not_completed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The task is not completed yet.',
    hint: 'Wait until the task is completed, then send the request again.',
  },
  task_failed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The task has failed, so it has no result.',
    hint: 'Read the task to see why it failed, then create a new one.',
  },
  context_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The messages are too long for the context of this model.',
    hint: 'Shorten the messages, or use a model with a larger context.',
  },
  output_length_exceeded: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The output would exceed the maximum length of this model.',
    hint: 'Shorten the input, or split it into several requests.',
  },
  invalid_image: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The image is invalid.',
    hint: `Send a complete PNG, JPEG, WebP or GIF of at most ${imageBytesMax / 1_048_576} MB.`,
  },
  voice_not_supported: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The model does not have this voice.',
    hint: 'Use one of the voices that `GET /v1/models` lists for the model.',
  },
  invalid_file_format: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The audio format is not supported.',
    hint: 'Send flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm.',
  },
  content_policy_violation: {
    status: 400,
    type: 'content_policy_error',
    message: 'The provider rejected the request because its content policy does not allow it.',
    hint: 'Change the prompt or the images so that they comply with the content policy.',
  },
  task_not_failed: {
    status: 400,
    type: 'invalid_request_error',
    message: 'Only failed tasks can be retried.',
    hint: 'Read the task to see its status.',
  },
  idempotency_key_reused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The idempotency key was already used for a different request.',
    hint: 'Use a new key for each request. To retry a request, send it without changes.',
  },
  request_in_progress: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The first request with this idempotency key is still in progress.',
    hint: 'Send the request again after `Retry-After` to get the response of the first request.',
  },
  conflict: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The request conflicts with the current state of the resource.',
    hint: 'Read the resource, change the request accordingly, and send it again.',
  },
  file_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The file is too large.',
    hint: 'Send a smaller file, or create a transcription task, which accepts larger files.',
  },
  request_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body is too large.',
    hint: 'Send a smaller body. Upload large images as files in a form instead of inside JSON.',
  },
  // 416
  range_not_satisfiable: {
    status: 416,
    type: 'invalid_request_error',
    message: 'The requested range is outside the file.',
    hint: 'Request a range within the size in the `Content-Range` header, or omit `Range`.',
  },
  // 429
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests.',
    hint: 'Wait for the time in the `Retry-After` header, then send the request again.',
  },
  // 5xx
  internal_error: {
    status: 500,
    type: 'server_error',
    message: 'An internal error occurred. Nothing was charged.',
    hint: 'Send the request again. If it keeps failing, report its `request_id` to the operator.',
  },
  upstream_error: {
    status: 502,
    type: 'server_error',
    message: 'The provider of this model failed. Nothing was charged.',
    hint: 'Send the request again.',
  },
  service_unavailable: {
    status: 503,
    type: 'server_error',
    message: 'The service is temporarily unavailable.',
    hint: 'Wait for the time in the `Retry-After` header, then send the request again.',
  },
  model_overloaded: {
    status: 503,
    type: 'server_error',
    message: 'The model is currently overloaded.',
    hint: 'Wait for the time in the `Retry-After` header, or use another model.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errors

/**
 * Whether the same request may succeed a little later. `x-should-retry` says so in every error response, because client
 * libraries decide by the status alone otherwise, and repeat every 409.
 */
export const mayRetry = (code: ErrorCode): boolean => {
  const { status } = errors[code]
  return code === 'request_in_progress' || status === 429 || status >= 500
}

export interface ApiErrorOptions {
  /** The invalid or missing parameter, as a dotted or indexed path. */
  param?: string
  /** Replaces the default message of the code. */
  message?: string
  /** Only written to the log, so it never contains a text of a caller or of a vendor. */
  detail?: string
  cause?: unknown
  /** Extra response headers, such as `Retry-After`. */
  headers?: Record<string, string>
}

/** Thrown for every response that is not a success. */
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

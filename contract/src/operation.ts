import { Type, type TSchema } from 'typebox'

import type { ErrorCode } from './errors.ts'
import type { KeyScope } from './key-scope.ts'
import type { OperatorRole } from './operator-key.ts'

/** Rate limits are counted per group, so that polling cannot use up the requests for creating. */
export const limitGroups = ['create', 'read', 'audio', 'chat'] as const
export type LimitGroup = (typeof limitGroups)[number]

/** `admin` may call every operation. */
export type RolesOfOperation = readonly [...OperatorRole[], 'admin']

/** A key needs one of these scopes to call the operation. */
export type ScopesOfOperation = readonly [KeyScope, ...KeyScope[]]

/** `key`: a customer's key. `operator`: an operator's key. `link`: a signed URL. `none`: open to everyone. */
type Access =
  | { access: 'operator'; roles: RolesOfOperation }
  | { access: 'key'; scopes: ScopesOfOperation }
  | { access: 'link' | 'none' }

/** One endpoint: everything that the service and its clients must agree on. */
export type Operation = Access & OperationDetails

interface OperationDetails {
  /** The operationId. Its kebab-case form is the name of the file that implements it. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path parameters are written as `{name}`. */
  path: string
  /** A short imperative phrase. */
  summary: string
  description: string
  limit?: LimitGroup
  /** The operation creates or charges something, so it accepts `Idempotency-Key` and `dry_run`. */
  creates?: true
  parameters?: {
    path?: Record<string, TSchema>
    query?: Record<string, TSchema>
    optionalQuery?: Record<string, TSchema>
  }
  /** One schema per parameter set; the model selects the set. `null` if that content type is not accepted. */
  body?: {
    form: TSchema[] | null
    json: TSchema[] | null
    sizeBytesMax: number
    /** Maximum size of the form's `file`. The upload is rejected as soon as it exceeds it. */
    fileBytesMax?: number
    /** Long strings inside JSON are stored on disk instead of in memory. */
    spoolsTexts?: true
    /** The body is read as raw bytes, whatever its content type. */
    bytes?: true
  }
  /** Without `schema` the response is a stream of `contentType`. With `schema` and `streams` it can be either. */
  answer: {
    description: string
    contentType?: string
    schema?: TSchema
    streams?: true
    /** The caller can request plain text instead of JSON. */
    texts?: true
    /** The caller can request an HTML page instead of JSON. */
    pages?: true
    /** The data of each server-sent event. */
    events?: TSchema
  }
  /** Error codes of this operation, in addition to the codes that its kind of operation always has. */
  errors: ErrorCode[]
}

export const errorsOfEveryOperation: ErrorCode[] = [
  'endpoint_not_found',
  'method_not_allowed',
  'host_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]

/** Errors of every operation that requires a customer's key. */
export const errorsOfEveryKey: ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'ip_not_allowed',
  'account_suspended',
  'access_denied',
  'insufficient_scope',
]

/** Errors of every operation that requires an operator's key. */
export const errorsOfEveryOperatorKey: ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'ip_not_allowed',
  'access_denied',
]

const errorsOfAccess: Record<Operation['access'], ErrorCode[]> = {
  key: errorsOfEveryKey,
  operator: errorsOfEveryOperatorKey,
  link: [],
  none: [],
}

export const idempotencyKeyCharactersMax = 255

/** Query parameters of every operation that creates something. */
export const queryOfEveryCreate = {
  dry_run: Type.Boolean({
    description: 'Validate the request and return a quote of its cost. Nothing is created or charged.',
  }),
}

const errorsOfEveryCreate: ErrorCode[] = [
  'invalid_parameter',
  'idempotency_key_reused',
  'request_in_progress',
  'conflict',
]

/** Errors of operations that charge an account. */
export const errorsOfSpending = [
  'subscription_expired',
  'quota_exceeded',
  'payment_failed',
  'insufficient_balance',
] as const

/** Errors of operations that read a request body. */
export const errorsOfBodies = [
  'invalid_request',
  'request_too_large',
  'missing_parameter',
  'invalid_parameter',
] as const

/** Errors of operations that use the video of another task. */
export const errorsOfSources = [
  'task_not_found',
  'task_not_completed',
  'task_failed',
  'media_expired',
] as const

/** Errors of operations that use a model. */
export const errorsOfModels = ['model_not_found', 'model_access_denied'] as const

/** Errors of operations that create a task, which waits in a queue. */
export const errorsOfTasks = [...errorsOfModels, ...errorsOfSpending, 'model_overloaded'] as const

/** Errors of operations that wait for a provider before they respond. */
export const errorsOfProviders = ['content_policy_violation', 'upstream_error', 'model_overloaded'] as const

/** Errors of operations that read an uploaded audio file. */
export const errorsOfAudioFiles = ['file_too_large', 'invalid_file_format'] as const

export const errorsOf = (operation: Operation): ErrorCode[] => [
  ...new Set([
    ...errorsOfEveryOperation,
    ...errorsOfAccess[operation.access],
    ...(operation.creates === true ? errorsOfEveryCreate : []),
    ...operation.errors,
  ]),
]

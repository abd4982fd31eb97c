import { Type, type TSchema } from 'typebox'

import type { ErrorCode } from './errors.ts'

/** Which bucket a request of this operation counts in: polling must never starve creates. */
export const limitGroups = ['create', 'read', 'audio', 'chat'] as const
export type LimitGroup = (typeof limitGroups)[number]

/** One endpoint of the service, with everything both sides must agree on. */
export interface Operation {
  /** The operationId; its kebab-case form is the file that implements it. */
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `{name}` for path parameters. */
  path: string
  summary: string
  /**
   * `key` takes a customer's key, `operator` an operator's, `link` carries its permission in a signed address,
   * `none` is open.
   */
  access: 'key' | 'operator' | 'link' | 'none'
  limit?: LimitGroup
  /** True where something is made or charged: it takes `Idempotency-Key`, and `dry_run` asks for a quote instead. */
  creates?: true
  parameters?: {
    path?: Record<string, TSchema>
    query?: Record<string, TSchema>
    optionalQuery?: Record<string, TSchema>
  }
  /** One schema per parameter set; the model picks the set. `null` where no such body is taken. */
  body?: {
    form: TSchema[] | null
    json: TSchema[] | null
    sizeBytesMax: number
    /** What a form's `file` may have; a larger one is refused as it comes. */
    fileBytesMax?: number
    /** True where long texts inside JSON are kept on disk instead of in memory. */
    spoolsTexts?: true
    /** True where it is taken as the bytes it is, whatever it says it is. */
    bytes?: true
  }
  /** Without a schema the answer is a stream of `contentType`; with one and `streams` it may be either. */
  answer: {
    description: string
    contentType?: string
    schema?: TSchema
    streams?: true
    /** True where a caller may ask for plain text instead. */
    texts?: true
    /** What each event of a stream of events carries. */
    events?: TSchema
  }
  /** Codes this operation may answer beside those that every operation may. */
  errors: ErrorCode[]
}

/** What any operation may answer, whatever it does. */
export const errorsOfEveryOperation: ErrorCode[] = [
  'endpoint_not_found',
  'method_not_allowed',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
]

/** What any operation that takes a key may answer. */
export const errorsOfEveryKey: ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'ip_not_allowed',
  'account_suspended',
  'access_denied',
]

/** What any operation that takes an operator's key may answer. */
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

/** How long an `Idempotency-Key` may be. */
export const idempotencyKeyCharactersMax = 255

/** What any operation that creates something takes beside its own query. */
export const queryOfEveryCreate = {
  dry_run: Type.Boolean({ description: 'Check everything and answer what it would cost; nothing is made.' }),
}

/** What any operation that creates something may answer. */
const errorsOfEveryCreate: ErrorCode[] = [
  'invalid_parameter',
  'idempotency_key_reused',
  'request_in_progress',
  'conflict',
]

export const errorsOf = (operation: Operation): ErrorCode[] => [
  ...new Set([
    ...errorsOfEveryOperation,
    ...errorsOfAccess[operation.access],
    ...(operation.creates === true ? errorsOfEveryCreate : []),
    ...operation.errors,
  ]),
]

import type { FastifyReply, FastifyRequest } from 'fastify'

/** The metadata of a completed request, without any of its content. */
export interface CompletedRequest {
  id: string
  at: Date
  accountId: string | null
  keyId: string | null
  operation: string
  method: string
  path: string
  status: number
  errorCode: string | null
  model: string | null
  /** The provider that was called while the client waited, if any. */
  provider: string | null
  taskId: string | null
  durationMs: number
  address: string
  userAgent: string | null
}

/** Receives every completed request. The functions must return quickly. */
export interface RequestLog {
  record: (request: CompletedRequest) => void
  /** Counts a create that was refused for overload, and stores only some of them: a row would add to the load. */
  recordOverload: (request: CompletedRequest) => void
  /** Only counts such a create. */
  countOverload: (request: Pick<CompletedRequest, 'operation' | 'status'>) => void
  /** Counts the request without storing it: anyone can send such requests in any number. */
  count: (request: CompletedRequest) => void
}

/** Whether a request was refused without a valid key. A 403 does not count, because its key exists. */
export const isAnonymousRefusal = ({ keyId, status }: Pick<CompletedRequest, 'keyId' | 'status'>): boolean =>
  keyId === null && status >= 400 && status < 500 && status !== 403

/** Whether a create was refused for lack of capacity, before a provider was called for it. */
export const isOverloadRefusal = (
  { status, provider }: Pick<CompletedRequest, 'status' | 'provider'>,
  isCreate: boolean,
): boolean => isCreate && status === 503 && provider === null

/** Details of a request that only its handler knows. */
export interface RequestDetails {
  model?: string
  provider?: string
  taskId?: string
}

const textMax = 300

const idShape = /^(?:[a-z]{1,20}_)?[\da-f-]{32,40}$/

/**
 * The path of the route with the UUIDs that it names. Any other part of a URL may be a text of the caller; tasks and models
 * have their own columns.
 */
const pathOf = ({ routeOptions: { url }, params }: FastifyRequest): string => {
  const given = (params ?? {}) as Record<string, string | undefined>
  return (url ?? '(unknown)').replace(/:(\w+)/g, (name, key: string) => {
    const value = given[key] ?? ''
    return idShape.test(value) ? value : name
  })
}

export const completedRequest = (
  request: FastifyRequest,
  { statusCode, elapsedTime }: Pick<FastifyReply, 'statusCode' | 'elapsedTime'>,
): CompletedRequest => {
  const durationMs = Math.round(elapsedTime)
  return {
    id: request.id,
    at: new Date(Date.now() - durationMs),
    accountId: request.caller?.accountId ?? null,
    keyId: request.caller?.keyId ?? request.operator?.keyId ?? null,
    operation: request.routeOptions.config.operation ?? 'none',
    method: request.method,
    path: pathOf(request),
    status: statusCode,
    errorCode: request.problem?.code ?? null,
    model: request.details?.model ?? null,
    provider: request.details?.provider ?? null,
    taskId: request.details?.taskId ?? null,
    durationMs,
    address: request.ip,
    userAgent: request.headers['user-agent']?.slice(0, textMax) ?? null,
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    details: RequestDetails | undefined
  }
}

import type { FastifyReply, FastifyRequest } from 'fastify'

/** A request that was answered: who asked for what, and how it went. Nothing of what was in it. */
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
  /** Who was asked for it, where somebody was while the caller waited. */
  provider: string | null
  taskId: string | null
  durationMs: number
  address: string
  userAgent: string | null
}

/** Keeps what operators may want to know of requests. It is told of every one once it was answered, and must be quick. */
export interface RequestLog {
  record: (request: CompletedRequest) => void
  /** Only counts it: anybody can send such requests without end, and none of them is worth a row. */
  count: (request: CompletedRequest) => void
}

/** Refused, with no key that we know. A 403 is not: it tells of a key that exists. */
export const isAnonymousRefusal = ({ keyId, status }: Pick<CompletedRequest, 'keyId' | 'status'>): boolean =>
  keyId === null && status >= 400 && status < 500 && status !== 403

/** What is known of a request only where it is answered. */
export interface RequestDetails {
  model?: string
  provider?: string
  taskId?: string
}

const textMax = 300

/** Without what follows the question mark, where links carry their signature; nor does a key belong into a path. */
const pathOf = (url: string): string => {
  const end = url.indexOf('?')
  const path = (end === -1 ? url : url.slice(0, end)).slice(0, textMax)
  return path.includes('sk-') ? path.replace(/sk-[0-9A-Za-z-]{8,}/g, 'sk-…') : path
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
    path: pathOf(request.url),
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

/** `/livez`, `/readyz` and `/healthz`: whether this process runs, and whether it can serve. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

import { ApiError } from '@kinora/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'

import { version } from '../../platform/version.ts'
import type { ForwardedFor } from './forwarded-for.ts'

export interface Readiness {
  /** The reasons why this process cannot serve; empty when it is ready. */
  problems: () => Promise<string[]>
  /** What is wrong although this process can serve most requests. */
  warnings: () => Promise<string[]>
}

/** A probe that waits longer than this for the database is answered without it. */
const timeoutMs = 2_000

const shareWhilePending = <Result>(find: () => Promise<Result>): (() => Promise<Result>) => {
  let pending: Promise<Result> | undefined
  return () => {
    pending ??= find().finally(() => {
      pending = undefined
    })
    return pending
  }
}

export const serveHealthChecks = (
  app: FastifyInstance,
  readiness: Readiness,
  server: { isDraining: () => boolean; forwardedFor: (request: IncomingMessage) => ForwardedFor },
): void => {
  // Readiness needs no key, so concurrent requests share one query of the database, and one of the media store.
  const findProblems = shareWhilePending(readiness.problems)
  const findWarnings = shareWhilePending(readiness.warnings)
  const findProblemsInTime = async (): Promise<string[]> => {
    const late = new AbortController()
    const noResponse = pause(timeoutMs, ['PostgreSQL (DATABASE_URL) does not respond'], {
      signal: late.signal,
    })
    // The pause rejects when it is no longer needed.
    noResponse.catch(() => undefined)
    try {
      return await Promise.race([findProblems(), noResponse])
    } finally {
      late.abort()
    }
  }
  const ready = async ({ raw }: FastifyRequest) => {
    const warned = findWarnings()
    const problems = server.isDraining() ? ['draining'] : await findProblemsInTime()
    if (problems.length > 0) {
      throw new ApiError('service_unavailable', { message: `Not ready: ${problems.join('; ')}.` })
    }
    // For `kinora doctor`, which asks through the proxy.
    const forwarded = server.forwardedFor(raw)
    const warnings = await warned
    return {
      status: 'ok',
      version,
      ...(warnings.length > 0 && { warnings }),
      ...(forwarded !== 'absent' && { forwarded_for: forwarded }),
    }
  }

  // Health checks are frequent and not worth a log line.
  const healthCheck = { config: { isHealthCheck: true } }
  app.get('/livez', healthCheck, async () => ({ status: 'ok' }))
  app.get('/readyz', healthCheck, ready)
  app.get('/healthz', healthCheck, ready)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    isHealthCheck?: boolean
  }
}

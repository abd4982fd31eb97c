/**
 * The HTTP server: hardened settings, request ids, CORS, one log line per request, and a graceful shutdown. It is
 * independent of what the operations do.
 */
import { setTimeout as pause } from 'node:timers/promises'

import underPressure from '@fastify/under-pressure'
import { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import { unsupportedOperations, operations } from '@kinora/contract/operations'
import { webhookOperations } from '@kinora/contract/operations/webhooks'
import fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

import { addressPrefixOf } from '../../admission/address-prefix.ts'
import { createPacedStarts } from '../../admission/paced-starts.ts'
import type { Log } from '../../platform/log.ts'
import { uuidV7 } from '../../platform/uuid.ts'
import { rateLimitHeaders, type LimitStanding, type RateLimit } from '../../rate-limits/rate-limit.ts'
import { discardBody } from '../body/receive-body.ts'
import { completedRequest, isAnonymousRefusal, type RequestLog } from '../completed-request.ts'
import { rawProblem, sendProblem } from '../error-response.ts'
import { isUnderOpenAi, withoutOpenAiBase } from '../openai-base.ts'
import { createClosing } from './closing.ts'
import { createServers, type ConnectionSettings } from './node-server.ts'

export interface ServerSettings extends ConnectionSettings {
  /** The process counts as overloaded above these values; 0 switches a check off. */
  overload: { eventLoopDelayMs: number; memoryBytes: number; heapBytes: number }
}

export interface Readiness {
  /** The reasons why this process cannot serve; empty when it is ready. */
  problems: () => Promise<string[]>
}

const exposedHeaders = [
  'x-request-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'retry-after',
  'x-ignored-params',
  'x-media-expires-at',
  'content-range',
  'etag',
  'x-engine',
  'x-engine-wanted',
  'x-audio-format',
  'openai-poll-after-ms',
  'preference-applied',
  'idempotent-replayed',
].join(', ')

const createRequestId = () => `req_${uuidV7()}`

/** Pages of any origin may call the customer API. The admin API and webhooks allow no other origin. */
const isForEveryOrigin = (url: string) => !/^\/(?:admin|webhooks)(?:\/|$)/i.test(url)

const isForOperators = (url: string) => /^\/admin(?:\/|$)/i.test(url)

const headersOfEveryReply = (requestId: string, url: string) => ({
  'x-request-id': requestId,
  ...(isForEveryOrigin(url) && {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': exposedHeaders,
  }),
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
})

const everyOperation: Operation[] = [operations, adminOperations, webhookOperations].flatMap(Object.values)
const patternOf = (path: string) =>
  new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}/?$`)
const pathPatterns = everyOperation.map(({ path, method }) => ({
  method: method as string,
  pattern: patternOf(path),
}))
const notOfferedPatterns = unsupportedOperations.map(({ path, method, summary }) => ({
  method: method as string,
  pattern: patternOf(path),
  summary,
}))

const pathOf = (url: string) => url.split('?', 1)[0] ?? ''

/** The methods that a path accepts; empty for an unknown path. */
const methodsOf = (url: string): string[] => {
  const path = pathOf(url)
  const methods = pathPatterns.flatMap(({ pattern, method }) => (pattern.test(path) ? method : []))
  return methods.length === 0
    ? []
    : [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])]
}

const refuseUnknown = (request: FastifyRequest): never => {
  const path = pathOf(request.url)
  const known = notOfferedPatterns.find(
    ({ method, pattern }) => method === request.method && pattern.test(path),
  )
  if (known !== undefined) throw new ApiError('endpoint_not_found', { message: known.summary })
  const methods = methodsOf(request.url)
  if (methods.length === 0 || methods.includes(request.method)) {
    throw new ApiError('endpoint_not_found', {
      message: `No endpoint at ${request.method} ${request.url.slice(0, 200)}.`,
    })
  }
  throw new ApiError('method_not_allowed', {
    message: `${request.method} is not allowed here; use ${methods.join(', ')}.`,
    headers: { allow: methods.join(', ') },
  })
}

const logLine = (request: FastifyRequest, statusCode: number, elapsedMs: number) => ({
  requestId: request.id,
  clientRequestId: request.headers['x-client-request-id'],
  operation: request.routeOptions.config.operation,
  method: request.method,
  // The route and not the URL, because a URL may contain a signature or a user's text.
  path: request.routeOptions.url,
  model: request.details?.model,
  taskId: request.details?.taskId,
  status: statusCode,
  code: request.problem?.code,
  detail: request.problem?.detail,
  keyId: request.caller?.keyId ?? request.operator?.keyId,
  accountId: request.caller?.accountId,
  ms: Math.round(elapsedMs * 10) / 10,
})

const lingerMs = 10_000

/** A probe that waits longer than this for the database is answered without it. */
const readinessTimeoutMs = 2_000

/**
 * After the response, the rest of an unread body is still received for a moment: a client whose connection is closed
 * while it sends never sees the response. A client that is still sending after that is disconnected.
 */
const stopLingering = ({ raw }: FastifyRequest) => {
  if (raw.complete || raw.destroyed) return
  const timer = setTimeout(() => raw.socket.destroy(), lingerMs)
  timer.unref()
  const clear = () => clearTimeout(timer)
  raw.once('end', clear).once('close', clear)
}

/** Health probes are frequent and not worth a log line. */
const probes = new Set(['/livez', '/readyz', '/healthz'])

/** How many requests of one address may be rate-limited, authenticated and checked for solvency at once. */
const checksPerAddress = 8

/** A webhook with a valid signature does not count against its address; its handler counts the others. */
const webhooks = new Set<string | undefined>(Object.values(webhookOperations).map(({ id }) => id))

export const createServer = (
  settings: ServerSettings,
  readiness: Readiness,
  log: Log,
  requestLog: RequestLog,
  limitAddress: RateLimit['address'],
) => {
  const start = createPacedStarts(checksPerAddress)
  /** Waits until this request may be checked; returns the function that ends its checks. */
  const beginChecks = async (request: FastifyRequest): Promise<() => void> => {
    if (!settings.serialisesRequests) return () => undefined
    const scope = isForOperators(request.url) ? 'operators' : 'customers'
    return new Promise((resolve) => start(`${scope} ${addressPrefixOf(request.ip)}`, resolve))
  }

  /** Runs before routing, so that unknown paths are limited as well. */
  const limit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { url = request.url, config } = request.routeOptions
    if (probes.has(url) || webhooks.has(config.operation)) return
    request.endChecks = await beginChecks(request)
    // If the client has disconnected while its request waited, 'close' has already been emitted.
    if (reply.raw.destroyed) request.endChecks()
    else reply.raw.once('close', request.endChecks)
    request.addressStanding = await limitAddress(request.ip, isForOperators(url) ? 'operators' : 'customers')
    if (request.addressStanding !== undefined) reply.headers(rateLimitHeaders(request.addressStanding))
  }
  let isDraining = false
  const closing = createClosing()
  const servers = createServers(settings, createRequestId)
  const app = fastify({
    serverFactory: (handle) => {
      const server = servers.create(handle, {
        keepAliveTimeout: 65_000,
        // The minimum upload rate bounds long uploads; this bounds any request.
        requestTimeout: 900_000,
        maxHeaderSize: 16_384,
        connectionsCheckingInterval: 1_000,
        headersTimeout: 10_000,
        insecureHTTPParser: false,
      })
      server.maxHeadersCount = 100
      server.maxRequestsPerSocket = 1_000
      return server
    },
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: createRequestId,
    requestIdHeader: false,
    rewriteUrl: (request) => {
      const url = request.url ?? '/'
      if (!isUnderOpenAi(url)) return url
      request.headers['x-api-dialect'] = 'openai'
      return withoutOpenAiBase(url)
    },
    trustProxy: settings.trustedProxies.length > 0 ? settings.trustedProxies : false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1_024 },
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) return
      // Text written now would become a part of the response under way.
      if (servers.isAnswering(socket)) {
        socket.destroy()
        return
      }
      const message =
        error.code === 'HPE_HEADER_OVERFLOW' ? 'The headers are too large.' : 'The request is not valid HTTP.'
      socket.end(rawProblem(new ApiError('invalid_request', { message }), createRequestId()))
    },
    // Fastify answers a path that it cannot decode before any hook runs. It ignores X-Forwarded-For there, so behind a
    // proxy only these requests count against the proxy's address.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOfEveryReply(request.id, request.url))
      limit(request, reply).then(
        () => sendProblem(log)(error, request, reply),
        (refusal: unknown) => sendProblem(log)(refusal, request, reply),
      )
    },
  }) as unknown as FastifyInstance
  // The plugin only measures. Admission decides which requests an overloaded process refuses.
  void app.register(underPressure, {
    maxEventLoopDelay: settings.overload.eventLoopDelayMs,
    maxRssBytes: settings.overload.memoryBytes,
    maxHeapUsedBytes: settings.overload.heapBytes,
    pressureHandler: () => undefined,
  })

  // An operation reads its body after authentication, so Fastify must leave it a stream.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.decorateRequest('ticket')
  app.decorateRequest('caller', undefined)
  app.decorateRequest('operator', undefined)
  app.decorateRequest('problem', undefined)
  app.decorateRequest('addressStanding', undefined)
  app.decorateRequest('endChecks', undefined)
  app.decorateRequest('details', undefined)
  app.setErrorHandler(sendProblem(log))

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOfEveryReply(request.id, request.url))
    await limit(request, reply)
  })
  // Set when the response is sent and not when the request arrives: otherwise requests under way would leave their
  // connections open and delay the shutdown.
  app.addHook('onSend', async (request, reply) => {
    if (isDraining) reply.header('connection', 'close')
    // Otherwise Node would read an unwanted body as fast as it arrives.
    discardBody(request.raw)
  })
  app.addHook('onResponse', async (request, reply) => {
    stopLingering(request)
    if (probes.has(request.routeOptions.url ?? '')) return
    const completed = completedRequest(request, reply)
    const isCountedOnly = isAnonymousRefusal(completed)
    const level = isCountedOnly ? 'debug' : 'info'
    log[level](logLine(request, reply.statusCode, reply.elapsedTime), 'request.completed')
    if (isCountedOnly) requestLog.count(completed)
    else requestLog.record(completed)
  })
  app.setNotFoundHandler(async (request, reply) => {
    request.endChecks?.()
    const methods = methodsOf(request.url)
    if (request.method === 'OPTIONS' && methods.length > 0) {
      return reply
        .status(204)
        .headers({
          allow: methods.join(', '),
          ...(isForEveryOrigin(request.url) && {
            'access-control-allow-methods': methods.join(', '),
            'access-control-allow-headers':
              request.headers['access-control-request-headers'] ?? 'authorization, content-type',
            'access-control-max-age': '86400',
          }),
        })
        .send()
    }
    return refuseUnknown(request)
  })

  app.get('/livez', async () => ({ status: 'ok' }))
  // Readiness needs no key, so concurrent requests share one query of the database.
  let pendingProblems: Promise<string[]> | undefined
  const findProblems = () => {
    pendingProblems ??= readiness.problems().finally(() => {
      pendingProblems = undefined
    })
    return pendingProblems
  }
  const findProblemsInTime = async (): Promise<string[]> => {
    const late = new AbortController()
    const noResponse = pause(readinessTimeoutMs, ['the database does not respond'], { signal: late.signal })
    // The pause rejects when it is no longer needed.
    noResponse.catch(() => undefined)
    try {
      return await Promise.race([findProblems(), noResponse])
    } finally {
      late.abort()
    }
  }
  const ready = async () => {
    const problems = isDraining ? ['draining'] : await findProblemsInTime()
    if (problems.length > 0) {
      throw new ApiError('service_unavailable', { message: `Not ready: ${problems.join('; ')}.` })
    }
    return { status: 'ok' }
  }
  app.get('/readyz', ready)
  app.get('/healthz', ready)

  return {
    app,
    closing,
    isOverloaded: () => app.isUnderPressure(),
    beginChecks,
    /** Fails readiness, makes clients reconnect elsewhere, then closes when the requests under way have ended. */
    drain: async (lameDuckMs: number) => {
      isDraining = true
      await new Promise((resolve) => setTimeout(resolve, lameDuckMs))
      closing.begin()
      await app.close()
      servers.stop()
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What is left of the rate limit of the address; undefined if the request does not count. */
    addressStanding: LimitStanding | undefined
    /** Ends the checks of this request, so that the next one of its address may be checked. */
    endChecks: (() => void) | undefined
  }
}

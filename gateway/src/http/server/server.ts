import underPressure from '@fastify/under-pressure'
/**
 * The front door: hardened settings, ids, cross-origin rules, one log line a request, and a close that
 * drops nobody. It knows nothing of video, audio or money.
 */
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
  /** Above these this process counts as overloaded; 0 for never. */
  overload: { eventLoopDelayMs: number; memoryBytes: number; heapBytes: number }
}

export interface Readiness {
  /** What keeps this process from serving; empty when it is ready. */
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

/** Pages of any origin may call with a customer's key; an operator's is for pages of our own, and news for none. */
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

/** The methods a path takes; empty for a path that is none of ours. */
const methodsOf = (url: string): string[] => {
  const path = pathOf(url)
  const methods = pathPatterns.flatMap(({ pattern, method }) => (pattern.test(path) ? method : []))
  return methods.length === 0
    ? []
    : [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])]
}

const answerUnknown = (request: FastifyRequest): never => {
  const path = pathOf(request.url)
  const known = notOfferedPatterns.find(
    ({ method, pattern }) => method === request.method && pattern.test(path),
  )
  if (known !== undefined) throw new ApiError('endpoint_not_found', { message: known.summary })
  const methods = methodsOf(request.url)
  if (methods.length === 0 || methods.includes(request.method)) {
    throw new ApiError('endpoint_not_found', {
      message: `There is nothing at ${request.method} ${request.url.slice(0, 200)}.`,
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
  // As the route has it: what was asked for may hold a signature or somebody's words.
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

/**
 * A body that nobody reads is taken in for a moment after its answer, because a sender that is cut off in the middle
 * never gets to see why. Whoever is still sending after that is cut off.
 */
const stopLingering = ({ raw }: FastifyRequest) => {
  if (raw.complete || raw.destroyed) return
  const timer = setTimeout(() => raw.socket.destroy(), lingerMs)
  timer.unref()
  const clear = () => clearTimeout(timer)
  raw.once('end', clear).once('close', clear)
}

/** Asked for all the time and by nobody: no line in a log. */
const probes = new Set(['/livez', '/readyz', '/healthz'])

/** How many requests of one address are counted, authenticated and found solvent at once. */
const checksPerAddress = 8

/** A webhook that verifies does not count against its address; its handler counts the others. */
const webhooks = new Set<string | undefined>(Object.values(webhookOperations).map(({ id }) => id))

export const createServer = (
  settings: ServerSettings,
  readiness: Readiness,
  log: Log,
  requestLog: RequestLog,
  limitAddress: RateLimit['address'],
) => {
  const start = createPacedStarts(checksPerAddress)
  /** Waits until this request may be checked; answers how to say that it was. */
  const beginChecks = async (request: FastifyRequest): Promise<() => void> => {
    if (!settings.serialisesRequests) return () => undefined
    const scope = isForOperators(request.url) ? 'operators' : 'customers'
    return new Promise((resolve) => start(`${scope} ${addressPrefixOf(request.ip)}`, resolve))
  }

  /** Comes before everything else, so that it holds for what is not there as well. */
  const limit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { url = request.url, config } = request.routeOptions
    if (probes.has(url) || webhooks.has(config.operation)) return
    request.endChecks = await beginChecks(request)
    // A client may have left while its request waited; that was told then, and is not told again.
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
        // Long uploads are bounded by their pace; this is the most any request may take to arrive.
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
      // Written into a response, it would pass for a part of it.
      if (servers.isAnswering(socket)) {
        socket.destroy()
        return
      }
      const message =
        error.code === 'HPE_HEADER_OVERFLOW' ? 'The headers are too large.' : 'The request is not valid HTTP.'
      socket.end(rawProblem(new ApiError('invalid_request', { message }), createRequestId()))
    },
    // A path the router cannot read is answered before any hook runs. Fastify does not look at X-Forwarded-For there,
    // so behind a proxy such requests count against the proxy's address, which no other request does.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOfEveryReply(request.id, request.url))
      limit(request, reply).then(
        () => sendProblem(log)(error, request, reply),
        (refusal: unknown) => sendProblem(log)(refusal, request, reply),
      )
    },
  }) as unknown as FastifyInstance
  // It only measures; what is refused while the process is overloaded is decided where operations are bound.
  void app.register(underPressure, {
    maxEventLoopDelay: settings.overload.eventLoopDelayMs,
    maxRssBytes: settings.overload.memoryBytes,
    maxHeapUsedBytes: settings.overload.heapBytes,
    pressureHandler: () => undefined,
  })

  // Bodies are read where the operation is bound, after its caller is known; here they stay streams.
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
  // When the answer leaves, not when the request came: one that was under way would else keep its connection,
  // and the close would wait for it.
  app.addHook('onSend', async (request, reply) => {
    if (isDraining) reply.header('connection', 'close')
    // Left to itself, Node would read a body that nobody wants as fast as it comes.
    discardBody(request.raw)
  })
  app.addHook('onResponse', async (request, reply) => {
    stopLingering(request)
    if (probes.has(request.routeOptions.url ?? '')) return
    const answered = completedRequest(request, reply)
    const isCountedOnly = isAnonymousRefusal(answered)
    const level = isCountedOnly ? 'debug' : 'info'
    log[level](logLine(request, reply.statusCode, reply.elapsedTime), 'request.completed')
    if (isCountedOnly) requestLog.count(answered)
    else requestLog.record(answered)
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
    return answerUnknown(request)
  })

  app.get('/livez', async () => ({ status: 'ok' }))
  // Nobody needs a key to ask, so however many ask at once, the database is asked once.
  let asking: Promise<string[]> | undefined
  const askOnce = () => {
    asking ??= readiness.problems().finally(() => {
      asking = undefined
    })
    return asking
  }
  const ready = async () => {
    const problems = isDraining ? ['draining'] : await askOnce()
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
    /** Fails readiness, asks clients to reconnect elsewhere, then closes once what is under way is done. */
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
    /** What is left of the limit of its address; undefined where it does not count. */
    addressStanding: LimitStanding | undefined
    /** Ends the checks of this request, so that the next one of its address may be checked. */
    endChecks: (() => void) | undefined
  }
}

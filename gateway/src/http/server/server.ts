/**
 * The HTTP server: hardened settings, request ids, CORS, one log line per request, and a graceful shutdown. It is
 * independent of what the operations do.
 */
import type { IncomingMessage } from 'node:http'

import underPressure from '@fastify/under-pressure'
import { ApiError, errors } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import { responseHeaders } from '@kinora/contract/response-headers'
import fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

import { addressPrefixOf } from '../../admission/address-prefix.ts'
import { createPacedStarts } from '../../admission/paced-starts.ts'
import { overloaded, type WaitingCreates } from '../../admission/waiting-creates.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { isAddressAllowed } from '../../auth/caller.ts'
import type { AllowedHosts } from '../../platform/allowed-hosts.ts'
import { createRequestId } from '../../platform/ids/request-id.ts'
import type { Log } from '../../platform/log.ts'
import { measure } from '../../platform/metrics/metrics.ts'
import { countRejection } from '../../platform/metrics/rejections.ts'
import { rateLimitHeaders, type LimitStanding, type RateLimit } from '../../rate-limits/rate-limit.ts'
import { discardBody } from '../body/receive-body.ts'
import {
  completedRequest,
  isAnonymousRefusal,
  isOverloadRefusal,
  type RequestLog,
} from '../completed-request.ts'
import {
  createErrorWriter,
  rawProblem,
  sendProblem,
  writeProblem,
  type WriteError,
} from '../error-response.ts'
import { isUnderOpenAi, withoutOpenAiBase } from '../openai-base.ts'
import { credentialsOf } from './admit.ts'
import { createClosing } from './closing.ts'
import { createForwardedFor } from './forwarded-for.ts'
import { serveHealthChecks, type Readiness } from './health-checks.ts'
import { createServers, type ConnectionSettings } from './node-server.ts'
import { createOwnPages } from './own-page.ts'
import { refuseOverload } from './refuse-overload.ts'
import { refuseUnknownPath, servePaths, type Audience } from './serve-paths.ts'
import { traceRequests } from './trace-requests.ts'

export interface ServerSettings extends ConnectionSettings {
  /** Everything that will be bound to this server. */
  operations: Operation[]
  /** Who the health checks and the unknown paths of this server are for. */
  audience: Audience
  /** Where clients reach the public API. */
  publicUrl: string
  /** Where clients reach this server. */
  serverUrl: string
  /** Whether a session of the console authenticates requests. */
  acceptsSessions: boolean
  allowedHosts: AllowedHosts
  /** The process counts as overloaded above these values; 0 switches a check off. */
  overload: { eventLoopDelayMs: number; memoryBytes: number; heapBytes: number }
}

export interface RequestLimits {
  address: RateLimit['address']
  healthCheck: RateLimit['healthCheck']
  waitingCreates: WaitingCreates
  likelyAccount: Authenticate['likelyAccount']
}

const exposedHeaders = Object.keys(responseHeaders).join(', ')

const isCreate = ({ routeOptions }: FastifyRequest) => routeOptions.config.creates === true

const headersOfEveryReply = (requestId: string, audience: Audience) => ({
  'x-request-id': requestId,
  ...(audience === 'customers' && {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': exposedHeaders,
  }),
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
})

const measureRequest = (
  operation: string | undefined,
  status: number,
  problem: ApiError | undefined,
  elapsedMs: number,
) => {
  countRejection(problem)
  measure('http.server.request.duration', elapsedMs / 1000, {
    operation: operation ?? 'none',
    'http.response.status_code': String(status),
    'error.type': problem?.code,
  })
}

const clientRequestId = /^[\w.:-]{1,64}$/

/** Only what has the form of an id, because any other text could be about anything. */
const clientRequestIdOf = ({ 'x-client-request-id': given }: IncomingMessage['headers']) =>
  typeof given === 'string' && clientRequestId.test(given) ? given : undefined

const logLine = (request: FastifyRequest, statusCode: number, elapsedMs: number) => ({
  requestId: request.id,
  clientRequestId: clientRequestIdOf(request.headers),
  operation: request.routeOptions.config.operation,
  method: request.method,
  // The route and not the URL, because a URL may contain a signature or a user's text.
  path: request.routeOptions.url ?? '(unknown)',
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
 * After the response, the rest of an unread body is still received for a moment: a client whose connection is closed
 * while it sends never sees the response. A client that is still sending after that is disconnected.
 */
const stopLingering = (raw: IncomingMessage) => {
  if (raw.complete || raw.destroyed) return
  const timer = setTimeout(() => raw.socket.destroy(), lingerMs)
  timer.unref()
  const clear = () => clearTimeout(timer)
  raw.once('end', clear).once('close', clear)
}

/** Of several hosts, a proxy could check one and this server another. */
const hasSeveralHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1

const loopback = ['127.0.0.0/8', '::1']

/** How many requests of one address may be rate-limited, authenticated and checked for solvency at once. */
const checksPerAddress = 8
/** How many of them begin in one tick of the event loop. A check that needs no database takes about 0.1 ms. */
const checksPerTick = 4

export const createServer = (
  settings: ServerSettings,
  readiness: Readiness,
  log: Log,
  requestLog: RequestLog,
  limits: RequestLimits,
) => {
  // The fields of these lines are plain values that are chosen one by one, so that there is nothing to redact in them.
  const requestLines = log.child({}, { redact: { paths: [], censor: '' } })
  const ownPages = createOwnPages(settings.serverUrl)
  const start = createPacedStarts({ runningMax: checksPerAddress, perTick: checksPerTick })
  const forwardedFor = createForwardedFor(settings.trustedProxies, log)
  const audienceOf = ({ routeOptions: { config } }: FastifyRequest) => config.audience ?? settings.audience
  const scopeOf = (request: FastifyRequest) =>
    audienceOf(request) === 'operators' ? 'operators' : 'customers'
  /** The health checks of this machine and of the operator's proxies are not limited. */
  const isProber = (address: string) =>
    isAddressAllowed({ addresses: [...loopback, ...settings.trustedProxies] }, address)
  /** Waits until this request may be checked; returns the function that ends its checks. */
  const beginChecks = async (request: FastifyRequest): Promise<() => void> => {
    if (!settings.serialisesRequests) return () => undefined
    // Operators and reads do not wait behind the creates of the same address.
    const scope = isCreate(request) ? 'creates' : scopeOf(request)
    return new Promise((resolve) => start(addressPrefixOf(request.ip), { start: resolve }, scope))
  }

  /** Whose share of the waiting creates a create uses; undefined for any other request. */
  const ownerOf = (request: FastifyRequest): string | undefined =>
    isCreate(request)
      ? (limits.likelyAccount(credentialsOf(request)) ?? addressPrefixOf(request.ip))
      : undefined

  /** Decided on arrival, so that a refusal does not wait behind accepted creates. */
  const refusalOf = (owner: string): ApiError | undefined =>
    app.isUnderPressure() ? overloaded : limits.waitingCreates.refusalFor(owner)

  /** Runs for unknown paths as well. */
  const limit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { isHealthCheck, operation, audience } = request.routeOptions.config
    if (hasSeveralHosts(request.raw)) {
      throw new ApiError('invalid_request', {
        message: 'The request has more than one Host header. Send one.',
      })
    }
    // A load balancer sends health checks to the address of this process, so they may name any host.
    if (isHealthCheck === true) {
      if (!isProber(request.ip)) await limits.healthCheck(request.ip)
      return
    }
    const hostProblem = settings.allowedHosts.problemWith(request.headers.host)
    if (hostProblem !== undefined) throw new ApiError('host_not_allowed', { message: hostProblem })
    // A webhook with a valid signature does not count against its address; its handler counts the others.
    if (operation !== undefined && audience === 'providers') return
    const owner = ownerOf(request)
    // At once: every wait for others, or for the limit of the address, would take a turn of the busy event loop.
    const refusal = owner === undefined ? undefined : refusalOf(owner)
    if (refusal !== undefined) throw refusal
    const end = await beginChecks(request)
    // Counted from here: until now it waited for other requests of its own address.
    const leave = owner === undefined ? undefined : limits.waitingCreates.enter(owner)
    request.endChecks = () => {
      end()
      leave?.()
    }
    // If the client has disconnected while its request waited, 'close' has already been emitted.
    if (reply.raw.destroyed) request.endChecks()
    else reply.raw.on('close', request.endChecks)
    request.addressStanding = await limits.address(request.ip, scopeOf(request))
    if (request.addressStanding !== undefined) reply.headers(rateLimitHeaders([request.addressStanding]))
  }
  let isDraining = false
  let isClosing = false
  const closing = createClosing()
  const rawResponse = (error: ApiError) => rawProblem(error, settings.publicUrl, createRequestId())
  const handleError = sendProblem(log, settings.publicUrl)
  const servers = createServers(
    settings,
    rawResponse,
    refuseOverload(settings.operations, {
      isOverloaded: () => app.isUnderPressure() || limits.waitingCreates.isFull(),
      refusalOf,
      likelyAccount: limits.likelyAccount,
      write: (request, response, error) => {
        const requestId = createRequestId()
        writeProblem(response, error, createErrorWriter(settings.publicUrl, requestId), {
          ...headersOfEveryReply(requestId, 'customers'),
          ...(isDraining && { connection: 'close' }),
        })
        discardBody(request)
        stopLingering(request)
      },
      onRefused: (operation, error) => {
        const { status } = errors[error.code]
        measureRequest(operation, status, error, 0)
        requestLog.countOverload({ operation, status })
      },
    }),
  )
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
      // A client may send its first request on an idle connection at this moment, and would take a text for the response.
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
        socket.destroy()
        return
      }
      // Text written now would become a part of the response under way.
      if (servers.isAnswering(socket)) {
        socket.destroy()
        return
      }
      const message =
        error.code === 'HPE_HEADER_OVERFLOW' ? 'The headers are too large.' : 'The request is not valid HTTP.'
      socket.end(rawResponse(new ApiError('invalid_request', { message })))
    },
    // Fastify answers a path that it cannot decode before any hook runs. It ignores X-Forwarded-For there, so behind a
    // proxy only these requests count against the proxy's address.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOfEveryReply(request.id, audienceOf(request)))
      limit(request, reply).then(
        () => handleError(error, request, reply),
        (refusal: unknown) => handleError(refusal, request, reply),
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
  app.decorateRequest('sessionToken', undefined)
  app.decorateRequest('problem', undefined)
  app.decorateRequest('addressStanding', undefined)
  app.decorateRequest('endChecks', undefined)
  app.decorateRequest('details', undefined)
  app.setErrorHandler(handleError)
  let listeningSocketsClosed: Promise<void> | undefined
  app.addHook('preClose', async () => {
    listeningSocketsClosed = servers.closeListeningSockets()
  })

  traceRequests(app)
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOfEveryReply(request.id, audienceOf(request)))
    forwardedFor(request.raw)
    if (settings.acceptsSessions && request.headers.cookie !== undefined)
      request.sessionToken = ownPages.sessionTokenOf(request)
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
    stopLingering(request.raw)
    // A response that began before the shutdown has not told its client that the connection will be closed.
    if (isClosing) setImmediate(servers.closeIdle)
    const { isHealthCheck, operation } = request.routeOptions.config
    if (isHealthCheck === true) return
    measureRequest(operation, reply.statusCode, request.problem, reply.elapsedTime)
    const completed = completedRequest(request, reply)
    const isCountedOnly = isAnonymousRefusal(completed)
    const isOverload = isOverloadRefusal(completed, isCreate(request))
    const level = isCountedOnly || isOverload ? 'debug' : 'info'
    if (requestLines.isLevelEnabled(level))
      requestLines[level](logLine(request, reply.statusCode, reply.elapsedTime), 'request.completed')
    if (isCountedOnly) requestLog.count(completed)
    else if (isOverload) requestLog.recordOverload(completed)
    else requestLog.record(completed)
  })
  app.setNotFoundHandler(refuseUnknownPath)
  servePaths(app, settings.operations)

  serveHealthChecks(app, readiness, { isDraining: () => isDraining, forwardedFor })

  return {
    app,
    closing,
    beginChecks,
    ownPages,
    publicUrl: settings.publicUrl,
    errorWriterFor: (requestId: string): WriteError => createErrorWriter(settings.publicUrl, requestId),
    /** Fails readiness, makes clients reconnect elsewhere, then closes when the requests under way have ended. */
    drain: async (lameDuckMs: number) => {
      isDraining = true
      await new Promise((resolve) => setTimeout(resolve, lameDuckMs))
      isClosing = true
      closing.begin()
      await app.close()
      await listeningSocketsClosed
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

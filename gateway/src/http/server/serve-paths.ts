/**
 * The routes of a server that are not operations: the other methods of each path, and unknown paths. The router decides
 * which rules apply to a request, because it alone knows which spellings of a URL lead to the same path.
 */
import { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import { consoleSessionOperations } from '@kinora/contract/operations/console-sessions'
import { webhookOperations } from '@kinora/contract/operations/webhooks'
import { findOutOfScope, unsupportedOperations } from '@kinora/contract/unsupported'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { pathUnderOpenAi } from '../openai-base.ts'

/** Who a path is for. Pages of any origin may call the paths of customers, and no others. */
export type Audience = 'customers' | 'operators' | 'providers' | 'console'
const idsOf = (table: Record<string, Operation>) => new Set(Object.values(table).map(({ id }) => id))
const operatorIds = idsOf(adminOperations)
const providerIds = idsOf(webhookOperations)
const consoleIds = idsOf(consoleSessionOperations)
export const audienceOf = ({ id }: Pick<Operation, 'id'>): Audience => {
  if (operatorIds.has(id)) return 'operators'
  if (consoleIds.has(id)) return 'console'
  return providerIds.has(id) ? 'providers' : 'customers'
}

/** Unknown paths below these belong to the same audience. */
const rootsOf: Partial<Record<Audience, string>> = {
  operators: '/admin/*',
  providers: '/webhooks/*',
  console: '/console/v1/*',
}

export const routePathOf = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/** Why there is nothing at a path that the `openai` packages call. */
const findReason = ({ originalUrl }: FastifyRequest): string | undefined => {
  const path = pathUnderOpenAi(originalUrl)
  return path === undefined ? undefined : findOutOfScope(path)
}

export const refuseUnknownPath = async (request: FastifyRequest): Promise<never> => {
  const { method, url, endChecks } = request
  endChecks?.()
  throw new ApiError('endpoint_not_found', {
    message: findReason(request) ?? `No endpoint at ${method} ${url.slice(0, 200)}.`,
  })
}

const allowedMethods = (served: string[]) => [
  ...new Set([...served, ...(served.includes('GET') ? ['HEAD'] : []), 'OPTIONS']),
]

const preflightHeaders = (request: FastifyRequest, methods: string, audience: Audience) => ({
  allow: methods,
  ...(audience === 'customers' && {
    'access-control-allow-methods': methods,
    'access-control-allow-headers':
      request.headers['access-control-request-headers'] ?? 'authorization, content-type',
    'access-control-max-age': '86400',
  }),
})

/** Answers OPTIONS and the methods that no operation of this path has. */
const serveOtherMethods = (
  app: FastifyInstance,
  path: string,
  [first, ...rest]: [Operation, ...Operation[]],
) => {
  const audience = audienceOf(first)
  const explained = unsupportedOperations.filter((each) => each.path === path).map(({ method }) => method)
  const allowed = allowedMethods([first, ...rest].map(({ method }) => method))
  const methods = allowed.join(', ')
  const route = { url: routePathOf(path), config: { audience } }
  app.route({
    ...route,
    method: 'OPTIONS',
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      request.endChecks?.()
      return reply
        .status(204)
        .headers(preflightHeaders(request, methods, audience))
        .send()
    },
  })
  app.route({
    ...route,
    method: app.supportedMethods.filter((method) => ![...allowed, ...explained].includes(method)),
    exposeHeadRoute: false,
    handler: async (request: FastifyRequest) => {
      const { method, url, endChecks } = request
      endChecks?.()
      const plain = `${method} is not allowed at ${url.replace(/\?.*/s, '').slice(0, 200)}; use ${methods}.`
      throw new ApiError('method_not_allowed', {
        message: findReason(request) ?? plain,
        headers: { allow: methods },
      })
    },
  })
}

export const servePaths = (app: FastifyInstance, operations: Operation[]): void => {
  const byPath = Map.groupBy(operations, ({ path }) => path)
  for (const [path, [first, ...rest]] of byPath) {
    if (first !== undefined) serveOtherMethods(app, path, [first, ...rest])
  }
  const audiences = new Set(operations.map(audienceOf))
  for (const audience of audiences) {
    const url = rootsOf[audience]
    if (url !== undefined) {
      const method = app.supportedMethods
      app.route({ method, url, exposeHeadRoute: false, config: { audience }, handler: refuseUnknownPath })
    }
  }
  if (!audiences.has('customers')) return
  for (const { method, path, summary } of unsupportedOperations) {
    app.route({
      method,
      url: routePathOf(path),
      exposeHeadRoute: false,
      handler: async ({ endChecks }: FastifyRequest) => {
        endChecks?.()
        throw new ApiError('endpoint_not_found', { message: summary })
      },
    })
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Undefined for a health check and for a path that is not known. */
    audience?: Audience
  }
}

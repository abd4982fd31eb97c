/** A span for each request, in whose context everything runs that belongs to the request. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import { beginRequest, isTracing, type RequestSpan } from '../../platform/tracing/tracing.ts'

/** The route and not the URL, because a URL may contain a signature or a text of the caller. */
const nameOf = ({ method, routeOptions: { url } }: FastifyRequest) =>
  url === undefined ? method : `${method} ${url}`

const attributesOf = (request: FastifyRequest, { raw, statusCode }: FastifyReply) => {
  const { url, config } = request.routeOptions
  const { problem, details } = request
  return {
    'http.request.method': request.method,
    ...(url !== undefined && { 'http.route': url }),
    ...(config.operation !== undefined && { 'kinora.operation': config.operation }),
    // A client that disconnects has not got the status.
    ...(raw.headersSent && { 'http.response.status_code': statusCode }),
    ...(problem !== undefined && { 'kinora.error.code': problem.code }),
    // The id in a rejected request may be any text.
    ...(details?.taskId !== undefined && statusCode < 400 && { 'kinora.task.id': details.taskId }),
    'kinora.request.id': request.id,
  }
}

/** Does nothing unless tracing is on. Must be called before other hooks are added, so that they run in the context. */
export const traceRequests = (app: FastifyInstance): void => {
  if (!isTracing()) return
  app.decorateRequest('span', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    const span =
      request.routeOptions.config.isHealthCheck === true
        ? undefined
        : beginRequest(request.headers['traceparent'])
    if (span === undefined) {
      done()
      return
    }
    request.span = span
    // Emitted however the request ends.
    reply.raw.once('close', () => {
      const errorType = reply.statusCode >= 500 ? (request.problem?.code ?? `${reply.statusCode}`) : undefined
      span.end(nameOf(request), attributesOf(request, reply), errorType)
    })
    span.run(done)
  })
  // The line of the request in the log is written when its response has been sent, which is another context.
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.span === undefined) done()
    else request.span.run(done)
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined unless the request is traced. */
    span: RequestSpan | undefined
  }
}

/** Serves files of pages. They are no operations, because no client but the page itself requests them. */
import type { FastifyInstance } from 'fastify'

import type { FixedResponse } from '../../platform/fixed-response.ts'
import { refuseUnknownPath } from './serve-paths.ts'

export const serveFiles = (
  app: FastifyInstance,
  path: string,
  findFile: (name: string) => FixedResponse | undefined,
): void => {
  app.get<{ Params: { '*': string } }>(
    `${path}*`,
    { config: { audience: 'customers' } },
    async (request, reply) => {
      const response = findFile(request.params['*'])
      if (response === undefined) return refuseUnknownPath(request)
      request.endChecks?.()
      const { status, headers, body } = {
        status: 200,
        ...(await response((name) => request.headers[name]?.toString())),
      }
      return reply.status(status).headers(headers).send(body)
    },
  )
}

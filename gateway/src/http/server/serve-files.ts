/** Serves files of pages. They are no operations, because no client but the page itself requests them. */
import type { FastifyInstance } from 'fastify'

import type { FixedResponse } from '../../platform/fixed-response.ts'
import { refuseUnknownPath, type Audience } from './serve-paths.ts'

interface Files {
  findFile: (name: string) => FixedResponse | undefined
  audience?: Audience
}

/** The path ends with `*`, which stands for the name of a file, or is that of one file. */
export const serveFiles = (
  app: FastifyInstance,
  path: string,
  { findFile, audience = 'customers' }: Files,
): void => {
  app.get<{ Params: { '*'?: string } }>(path, { config: { audience } }, async (request, reply) => {
    const response = findFile(request.params['*'] ?? '')
    if (response === undefined) return refuseUnknownPath(request)
    request.endChecks?.()
    const { status, headers, body } = {
      status: 200,
      ...(await response((name) => request.headers[name]?.toString())),
    }
    return reply.status(status).headers(headers).send(body)
  })
}

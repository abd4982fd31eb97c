/** Admits a request before its body is read: authentication, scope, rate limit, then the limits on work in flight. */
import type { Operation } from '@kinora/contract/operation'
import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Admission, Ticket } from '../../admission/admission.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import type { Caller, Operator } from '../../auth/caller.ts'
import { sessionTokenOf, type Credentials } from '../../auth/credentials.ts'
import { assertScope } from '../../auth/key-scope.ts'
import { assertRole } from '../../auth/operator-role.ts'
import type { RateLimit } from '../../rate-limits/rate-limit.ts'
import type { OwnPages } from './own-page.ts'
import { audienceOf } from './serve-paths.ts'
export interface Admitting {
  authenticate: Authenticate
  rateLimit: RateLimit
  admission: Admission
  ownPages: OwnPages
}
interface RequestTicket extends Ticket {
  /** Counts what still needs the ticket: the response until it is closed, the handler until it has returned. */
  references: number
  dropReference: () => void
}

export const headerOf = (request: FastifyRequest, name: string) => {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

export const credentialsOf = (request: FastifyRequest): Credentials => ({
  authorization: request.headers.authorization,
  apiKey: headerOf(request, 'x-api-key'),
  session: request.sessionToken,
  address: request.ip,
})
const authenticateAndLimit = async (
  { authenticate, rateLimit, ownPages }: Admitting,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const credentials = credentialsOf(request)
  const isConsole = sessionTokenOf(credentials) !== undefined
  if (isConsole) ownPages.assertOwnPage(request)
  if (operation.access === 'operator') {
    const operator = await authenticate.operator(credentials)
    request.operator = operator
    assertRole(operator, operation.roles)
    const group = operation.method === 'GET' ? 'read' : 'create'
    reply.headers(await rateLimit(group, { ...operator, isConsole }, request.addressStanding))
    return
  }
  const caller = await authenticate(credentials)
  request.caller = caller
  assertScope(caller, operation)
  reply.headers(await rateLimit(operation.limit ?? 'read', { ...caller, isConsole }, request.addressStanding))
}

/**
 * Counts a request until its response is closed and its handler has returned. A client that disconnects does not end
 * the handler at once, and the work that the handler still does goes on counting.
 */
const openTicket = (request: FastifyRequest, reply: FastifyReply, admission: Admission): RequestTicket => {
  const { caller, operator } = request
  const opened = admission.open({
    address: request.ip,
    keyId: caller?.keyId ?? operator?.keyId,
    accountId: caller?.accountId,
    isOperator: operator !== undefined,
  })
  opened.take('requests', 1)
  const ticket: RequestTicket = {
    ...opened,
    references: 1,
    dropReference: () => {
      ticket.references -= 1
      if (ticket.references === 0) opened.close()
    },
  }
  if (reply.raw.destroyed) ticket.dropReference()
  else reply.raw.on('close', ticket.dropReference)
  return ticket
}

export const admit = async (
  server: Admitting,
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> => {
  if (operation.access === 'key' || operation.access === 'operator')
    await authenticateAndLimit(server, operation, request, reply)
  else if (audienceOf(operation) === 'console') server.ownPages.assertNoOtherPage(request)
  request.ticket = openTicket(request, reply, server.admission)
  request.endChecks?.()
}

declare module 'fastify' {
  interface FastifyRequest {
    ticket: RequestTicket
    caller: Caller | undefined
    operator: Operator | undefined
    /** The token in the cookie of the console. */
    sessionToken: string | undefined
  }
}

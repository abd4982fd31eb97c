/**
 * Binds an operation to its handler. Every request passes the same steps in the same order: authentication, rate limit,
 * admission, query, body, idempotency, handler, response. The cheap steps come first, so that no body is read for a
 * caller who may not send one, and an unauthenticated client learns nothing else.
 */
import type { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

import type { MediaWork } from '../../admission/media-work.ts'
import type { WaitingCreates } from '../../admission/waiting-creates.ts'
import type { Caller, Operator } from '../../auth/caller.ts'
import type { RunOnce } from '../../idempotency/run-once.ts'
import { readBytes, type BodyReading } from '../body/json-body.ts'
import type { BodyLimits } from '../body/receive-body.ts'
import { longTextOf } from '../body/spooled-text.ts'
import type { Call, Handler, Reply } from '../call.ts'
import type { RequestDetails } from '../completed-request.ts'
import type { WriteError } from '../error-response.ts'
import { isUnderOpenAi } from '../openai-base.ts'
import { readParameters } from '../parameters.ts'
import { admit, credentialsOf, headerOf, type Admitting } from './admit.ts'
import { bindMediaWork } from './bind-media-work.ts'
import { bindProviderSlot, type SlotSettings } from './bind-provider-slot.ts'
import { abortOnDisconnect, type Closing } from './closing.ts'
import { formPartsOf, readBody, type BodySettings } from './read-body.ts'
import { asksForQuote, dryRun, ignoredQuery, queryFieldsOf, queryReader } from './read-query.ts'
import { rejectUnsupported } from './reject-unsupported.ts'
import { identityOf, type RequestIdentity } from './request-identity.ts'
import { discardReply, sendReply, withIgnoredParams } from './send-reply.ts'
import { audienceOf, routePathOf } from './serve-paths.ts'

export interface ApiServer extends Admitting, BodySettings, SlotSettings {
  app: FastifyInstance
  mediaWork: MediaWork
  waitingCreates: WaitingCreates
  /** Waits until another request of this address may be checked; returns the function that ends its checks. */
  beginChecks: (request: FastifyRequest) => Promise<() => void>
  errorWriterFor: (requestId: string) => WriteError
  /** Where clients reach the public API. */
  publicUrl: string
  /** Why the caller cannot pay for anything this operation makes; undefined if the caller can. */
  findPaymentProblem: (caller: Caller, operation: Operation) => Promise<ApiError | undefined>
  body: BodyLimits
  closing: Closing
  idempotency: {
    /** Equal for two requests with the same content. */
    fingerprintOf: (operation: string, call: Pick<Call, 'path' | 'fields' | 'longText'>) => Promise<Buffer>
    runOnce: RunOnce
    /** Whether this may repeat a request that has a stored response; such a request is not refused for lack of money. */
    mayReplay: (caller: Caller, operation: string, identity: RequestIdentity) => Promise<boolean>
  }
  /** The id of the model with this id or alias. The request log records no other text, and it records the id. */
  modelIdOf: (name: string) => string | undefined
  /** The request log records a text as a task only if this accepts it. */
  isTaskId: (text: string) => boolean
}

/** The model and the task that a request names in its path, query or body, or that its response names. */
const detailsOf = (
  { modelIdOf, isTaskId }: Pick<ApiServer, 'modelIdOf' | 'isTaskId'>,
  { id, model: name }: { id?: unknown; model?: unknown },
): RequestDetails => {
  const model = typeof name === 'string' ? modelIdOf(name) : undefined
  return {
    ...(model !== undefined && { model }),
    ...(typeof id === 'string' && isTaskId(id) && { taskId: id }),
  }
}

/** The refusal of everything that this caller could create with an operation; undefined if something may be created. */
type FindOverload = (caller: Caller) => ApiError | undefined

/**
 * The checks before the first expensive step of a request. Each runs at most once. An order is refused if nothing can be
 * created now, or if its caller cannot pay, unless it may be a replay. A quote is refused only if its caller cannot pay:
 * overload is a part of its response, and it is never replayed.
 */
const earlyChecks = (
  server: ApiServer,
  operation: Operation,
  findOverload: FindOverload,
  request: FastifyRequest,
  identity: RequestIdentity | undefined,
) => {
  const once = (check: (caller: Caller) => Promise<void>) => {
    const run = async () => {
      const { caller } = request
      if (caller === undefined) return
      const endChecks = await server.beginChecks(request)
      try {
        await check(caller)
      } finally {
        endChecks()
      }
    }
    let checked: Promise<void> | undefined
    return () => (checked ??= run())
  }
  const assertCanPay = async (caller: Caller) => {
    const problem = await server.findPaymentProblem(caller, operation)
    if (problem !== undefined) throw problem
  }
  return {
    checkQuote: once(assertCanPay),
    checkOrder: once(async (caller) => {
      if (identity !== undefined && (await server.idempotency.mayReplay(caller, operation.id, identity)))
        return
      const overload = findOverload(caller)
      if (overload !== undefined) throw overload
      await assertCanPay(caller)
    }),
  }
}

export const bindOperation = <O extends Operation>(
  server: ApiServer,
  operation: O,
  handler: Handler<O>,
  findOverload: FindOverload = () => undefined,
): void => {
  const readQuery = queryReader(operation)
  const ignoredQueryOf = ignoredQuery(operation)
  const assertSupported = rejectUnsupported(operation)
  const formParts = formPartsOf(operation)
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    const query = readQuery(request)
    const queryFields = queryFieldsOf(request)
    assertSupported(queryFields, 'query')
    let wantsQuote = asksForQuote(operation, queryFields)
    const sentIdentity = wantsQuote ? undefined : identityOf(operation, request)
    const { checkOrder, checkQuote } = earlyChecks(server, operation, findOverload, request, sentIdentity)
    const beforeExpensive = async () => {
      if (operation.creates === true) await (wantsQuote ? checkQuote() : checkOrder())
    }
    const { ticket } = request
    const reading: BodyReading = {
      ...server.body,
      minimumRate: { ...server.body.minimumRate, factor: ticket.uploadRateFactor },
      ticket,
      sizeBytesMax: operation.body?.sizeBytesMax ?? 0,
      beforeLarge: async (upload) => {
        // The payment is checked first, because the upload may take the place of another account's.
        await beforeExpensive()
        return ticket.beginUpload(upload)
      },
      // The quote of a small form is cheap unless it needs a program or a download.
      beforeForm: async () => {
        if (!wantsQuote) await beforeExpensive()
      },
    }
    const { fields, discard } = await readBody(operation, request, reading, formParts, server)
    try {
      // Bodies that arrived at the same time could exceed the limit together.
      const refusal =
        operation.creates === true && request.caller !== undefined
          ? server.waitingCreates.refusalFor(request.caller.accountId)
          : undefined
      if (refusal !== undefined) throw refusal
      assertSupported(fields, 'body')
      wantsQuote = asksForQuote(operation, fields) || wantsQuote
    } catch (error) {
      await discard()
      throw error
    }
    const identity = wantsQuote ? undefined : sentIdentity
    const disconnected = abortOnDisconnect(reply.raw, server.closing)
    const note = (details: RequestDetails) => {
      request.details = { ...request.details, ...details }
    }
    const { id = query['id'] } = request.params as Record<string, string>
    note(detailsOf(server, { id, model: fields.value('model') }))
    const ignored = new Set(ignoredQueryOf(queryFields))
    const call: Call<O> = {
      path: request.params as Call<O>['path'],
      query: query as Call<O>['query'],
      url: request.originalUrl,
      header: (name) => headerOf(request, name),
      headers: request.headers,
      address: request.ip,
      session: {
        token: request.sessionToken,
        isSecure: server.ownPages.isSecure(request),
      },
      method: request.method,
      isUnderOpenAi: isUnderOpenAi(request.originalUrl),
      // An operation that takes no key never reads its caller.
      caller: request.caller as Caller,
      operator: request.operator as Operator,
      fields,
      bytes: () => readBytes(request.raw, reading),
      longText: longTextOf,
      read: (schema) => {
        const read = readParameters(schema, fields)
        for (const name of read.ignored) if (operation.creates !== true || name !== dryRun) ignored.add(name)
        return read.values
      },
      note,
      ignore: (name) => ignored.add(name),
      requestId: request.id,
      publicUrl: server.publicUrl,
      writeError: server.errorWriterFor(request.id),
      wantsQuote,
      assertCanPay: beforeExpensive,
      replayOf: undefined,
      responseToStore: () => undefined,
      // A caller who sent an idempotency key may come back for the response, so a disconnect does not stop the work.
      signal: identity?.key === undefined ? disconnected.signal : new AbortController().signal,
      waitSignal: () => {
        server.closing.abortOnClose(disconnected)
        const { caller, operator } = request
        if ((caller !== undefined || operator !== undefined) && !reply.raw.destroyed) {
          const { watch } = server.authenticate
          reply.raw.on('close', watch(credentialsOf(request), operation, caller?.accountId, disconnected))
        }
        return disconnected.signal
      },
      ...bindMediaWork(server.mediaWork, beforeExpensive, () => call),
      ...bindProviderSlot(server, request, () => call),
    }
    const handle = async (handled: Call<O>) => withIgnoredParams(await handler(handled), ignored)
    const handleOnce = async (identified: RequestIdentity): Promise<Reply<unknown>> => {
      const fingerprint = await server.idempotency.fingerprintOf(operation.id, call)
      const attempt = { ...identified, caller: call.caller, operation: operation.id, fingerprint }
      const leave = server.waitingCreates.enter(call.caller.accountId)
      try {
        return await server.idempotency.runOnce(
          attempt,
          disconnected.signal,
          ({ responseToStore, replayOf }) => {
            leave()
            return handle({
              ...call,
              replayOf,
              responseToStore: (taskId, response) =>
                responseToStore(taskId, withIgnoredParams(response, ignored)),
            })
          },
        )
      } finally {
        leave()
      }
    }
    try {
      const response = identity === undefined ? await handle(call) : await handleOnce(identity)
      try {
        const { body } = response
        if (typeof body === 'object' && body !== null) note(detailsOf(server, body))
        return await sendReply(reply, operation, response, server.log)
      } catch (error) {
        discardReply(response, server.log)
        throw error
      }
    } finally {
      await discard()
      ticket.release('bodyBytes')
      ticket.release('spoolBytes')
      ticket.release('uploads')
    }
  }
  server.app.route({
    // HEAD runs the handler of GET; the server leaves out the body.
    method: operation.method === 'GET' ? ['GET', 'HEAD'] : operation.method,
    exposeHeadRoute: false,
    url: routePathOf(operation.path),
    config: { operation: operation.id, audience: audienceOf(operation), creates: operation.creates === true },
    // Runs before Fastify looks at the headers of the body.
    onRequest: (request, reply) => admit(server, operation, request, reply),
    handler: async (request, reply) => {
      const { ticket } = request
      ticket.references += 1
      try {
        return await serve(request, reply)
      } finally {
        ticket.dropReference()
      }
    },
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: string
    creates?: boolean
  }
}

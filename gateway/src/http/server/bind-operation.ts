/**
 * Binds an operation to what answers it. The order is the same for every one: who calls, how often, what
 * the body says, the answer. Cheap and non-leaking checks come first, so a body is never read for a
 * caller who may not send it.
 */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'
import { idempotencyKeyCharactersMax, queryOfEveryCreate, type Operation } from '@kinora/contract/operation'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'

import type { Admission, Ticket } from '../../admission/admission.ts'
import type { MediaWork } from '../../admission/media-work.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import type { Caller, Operator } from '../../auth/caller.ts'
import type { RunOnce, Attempt } from '../../idempotency/run-once.ts'
import type { Log } from '../../platform/log.ts'
import type { RateLimit } from '../../rate-limits/rate-limit.ts'
import { fieldsOf, noFields, type Fields } from '../body/fields.ts'
import { readBytes, readJsonBody, type BodyReading } from '../body/json-body.ts'
import { readForm, type FormLimits } from '../body/multipart.ts'
import type { BodyLimits } from '../body/receive-body.ts'
import type { Spool } from '../body/spool.ts'
import { longTextOf } from '../body/spooled-text.ts'
import type { Call, Handler, Reply } from '../call.ts'
import type { Noted } from '../completed-request.ts'
import { isUnderOpenAi } from '../openai-base.ts'
import { readBoolean, readParameters } from '../parameters.ts'
import { isEventStream, sendEvents } from '../sse.ts'
import { bindMediaWork } from './bind-media-work.ts'
import type { Closing } from './closing.ts'

export interface ApiServer {
  app: FastifyInstance
  authenticate: Authenticate
  rateLimit: RateLimit
  admission: Admission
  mediaWork: MediaWork
  /** Whether this process has too much to do to create anything now. */
  isOverloaded: () => boolean
  /** Waits until another request of this address may be checked; answers how to say that it was. */
  beginChecks: (request: FastifyRequest) => Promise<() => void>
  /** Why a caller could not pay for anything this operation makes; undefined for one who could. */
  findInsolvency: (caller: Caller, operation: Operation) => Promise<ApiError | undefined>
  /** False where limits are switched off. */
  isGuarded: boolean
  body: BodyLimits
  form: Omit<FormLimits, keyof FormParts>
  spool: Spool
  closing: Closing
  idempotency: {
    /** The same for two requests that ask the same. */
    fingerprintOf: (operation: string, call: Pick<Call, 'path' | 'fields' | 'longText'>) => Promise<Buffer>
    runOnce: RunOnce
    /** Whether this may be a request that was answered before; it is not refused for want of money. */
    mayReplay: (caller: Caller, operation: string, names: RequestNames) => Promise<boolean>
  }
  /** What the log of requests may tell of a request: names of ours, and nothing that only looks like one. */
  isModel: (text: string) => boolean
  isTaskId: (text: string) => boolean
  log: Log
}

const headerOf = (request: FastifyRequest, name: string) => {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

const admit = async (
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  server: ApiServer,
) => {
  const credentials = {
    authorization: request.headers.authorization,
    apiKey: headerOf(request, 'x-api-key'),
    address: request.ip,
  }
  if (operation.access === 'operator') {
    const operator = await server.authenticate.operator(credentials)
    request.operator = operator
    const group = operation.method === 'GET' ? 'read' : 'create'
    reply.headers(await server.rateLimit(group, operator, request.addressStanding))
    return
  }
  const caller = await server.authenticate(credentials)
  request.caller = caller
  reply.headers(await server.rateLimit(operation.limit ?? 'read', caller, request.addressStanding))
}

const overloaded = () =>
  new ApiError('service_unavailable', {
    message: 'This server is overloaded. Try again in 2 s.',
    headers: { 'retry-after': '2' },
  })

interface RequestTicket extends Ticket {
  /** How many still need it: the response until it is closed, the handler until it has returned. */
  holds: number
  letGo: () => void
}

/**
 * Counts a request until its response is closed and its handler has returned. A client that hangs up does not end the
 * handler at once, and what it is still doing goes on counting.
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
    holds: 1,
    letGo: () => {
      ticket.holds -= 1
      if (ticket.holds === 0) opened.close()
    },
  }
  if (reply.raw.destroyed) ticket.letGo()
  else reply.raw.once('close', ticket.letGo)
  return ticket
}

/** The media type alone, lower-case; anything but `type/subtype` with plain parameters is refused. */
const mediaTypeOf = (header: string | undefined): string => {
  const match = /^([a-z]+\/[a-z0-9.+-]+)(?:;[\x20-\x7e]*)?$/i.exec(header ?? '')
  return match?.[1]?.toLowerCase() ?? ''
}

type Body = { fields: Fields; discard: () => Promise<void> }

type FormParts = Pick<FormLimits, 'fileNames' | 'singleNames'>

/** What an operation says of the parts of its form. Of a picture given twice the model decides what it means. */
const formPartsOf = ({ body }: Operation): FormParts => {
  const properties = (body?.form ?? []).flatMap((schema) =>
    Object.entries((schema as { properties?: Record<string, FormProperty> }).properties ?? {}),
  )
  const namesOfThose = (isWanted: (property: FormProperty) => boolean) =>
    new Set(properties.filter(([, property]) => isWanted(property)).map(([name]) => name))
  return {
    fileNames: namesOfThose(({ format }) => format === 'binary'),
    singleNames: namesOfThose((property) => property['x-image'] !== true).add(dryRun),
  }
}

interface FormProperty {
  format?: string
  'x-image'?: boolean
}

const readBody = async (
  operation: Operation,
  request: FastifyRequest,
  reading: BodyReading,
  parts: FormParts,
  server: ApiServer,
): Promise<Body> => {
  const { body } = operation
  if (body === undefined || body.bytes === true) {
    return { fields: noFields, discard: () => Promise.resolve() }
  }
  const { form, spool, isGuarded } = server
  const mediaType = mediaTypeOf(request.headers['content-type'])
  if (mediaType === 'application/json' && body.json !== null) {
    return readJsonBody(request.raw, reading, { spool, isGuarded, spoolsTexts: body.spoolsTexts === true })
  }
  if (mediaType === 'multipart/form-data' && body.form !== null) {
    const { fileBytesMax } = body
    const ofFiles = fileBytesMax === undefined ? {} : { fileBytesMax, refusedFile: 'file' }
    return readForm(request.raw, reading, { ...form, ...ofFiles, ...parts }, spool)
  }
  const accepted = [body.form && 'multipart/form-data', body.json && 'application/json']
    .filter(Boolean)
    .join(' or ')
  throw new ApiError('invalid_request', {
    message: `Send the body as ${accepted}${mediaType === '' ? '; no usable content type was given' : `, not ${mediaType}`}.`,
  })
}

/**
 * Makes the reader of the query parameters an operation knows; what it does not know is nobody's business. What can
 * be known of them is worked out once, when the operation is bound.
 */
const queryReader = ({ parameters, creates }: Operation) => {
  const { query: required = {}, optionalQuery } = parameters ?? {}
  const optional = { ...optionalQuery, ...(creates === true && queryOfEveryCreate) }
  const requiredNames = Object.keys(required)
  const names = [...requiredNames, ...Object.keys(optional)]
  const optionalSet = Type.Object(
    Object.fromEntries(Object.entries(optional).map(([name, schema]) => [name, Type.Optional(schema)])),
  )
  return (request: FastifyRequest): Record<string, string> => {
    if (names.length === 0) return {}
    const given = request.query as Record<string, string | string[]>
    const texts = new Map<string, string>()
    for (const name of names) {
      const value = given[name]
      if (Array.isArray(value)) {
        throw new ApiError('invalid_parameter', {
          param: name,
          message: `'${name}' was given more than once.`,
        })
      }
      if (value !== undefined) texts.set(name, value)
    }
    const { values } = readParameters(optionalSet, fieldsOf('form', texts))
    const query = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
    for (const name of requiredNames) {
      const text = texts.get(name)
      if (text !== undefined) query[name] = text
    }
    return query
  }
}

const dryRun = 'dry_run'

/**
 * Whether a query or a body asks for a quote. The name without a value does too, and what is no boolean is refused:
 * whoever writes `dry_run` at all must never buy by a slip.
 */
const asksForQuote = ({ creates }: Operation, fields: Fields): boolean => {
  if (creates !== true || !fields.isGiven(dryRun)) return false
  const value = fields.value(dryRun)
  const isBlank = value === undefined || (typeof value === 'string' && value.trim() === '')
  return isBlank && !fields.hasFile(dryRun) ? true : readBoolean(dryRun, value)
}

/** Ends a body that is not going to be read; one that was read to its end does not notice. */
const discardBody = (body: unknown, log: Log): void => {
  if (body instanceof Readable) body.destroy()
  else if (isEventStream(body)) {
    body.return().catch((error: unknown) => log.error({ err: error }, 'stream.failed'))
  }
}

const ignoreError = () => undefined

const send = (
  reply: FastifyReply,
  operation: Operation,
  { status = 200, headers = {}, body }: Reply<unknown>,
  log: Log,
) => {
  void reply.status(status).headers(headers)
  if (isEventStream(body)) {
    sendEvents(reply.hijack().raw, reply.getHeaders(), body, log)
    return reply
  }
  if (body instanceof Readable) {
    // The framework listens once it sends; until then an error would end the process.
    body.on('error', ignoreError)
    return reply.send(body)
  }
  if (body === undefined) return reply.send(body)
  const json = 'application/json; charset=utf-8'
  return typeof body === 'string'
    ? reply.type(headers['content-type'] ?? operation.answer.contentType ?? json).send(body)
    : reply.type(headers['content-type'] ?? json).send(JSON.stringify(body))
}

/**
 * Is aborted when the client goes away. A function of its own, because what listens here lives as long as the
 * connection, and would keep a request's body alive all through a stream if it were made where that is at hand.
 */
const goneOf = (response: ServerResponse, closing: Closing): AbortController => {
  const gone = new AbortController()
  response.on('close', () => {
    closing.forget(gone)
    if (!response.writableFinished) gone.abort()
  })
  if (response.destroyed) gone.abort()
  return gone
}

/** A header value may carry only plain characters; a name with others is shown with marks instead. */
const headerText = (names: string[]) =>
  names.map((name) => name.replace(/[^\x21-\x7e]/g, '?').slice(0, 64)).join(', ')

/** What a request is recognised by when it comes again. */
type RequestNames = Pick<Attempt, 'key' | 'retry'>

/**
 * What a request is recognised by when it comes again; undefined where it is not to be. A client library that tries
 * again says so, and then asking the same is enough; without a key a stream is not kept for it.
 */
const namesOf = ({ creates, answer }: Operation, { headers }: FastifyRequest): RequestNames | undefined => {
  if (creates !== true) return undefined
  const key = headers['idempotency-key']
  if (key !== undefined) {
    const isText = typeof key === 'string' && /^[\x20-\x7e]+$/.test(key)
    if (isText && key.length <= idempotencyKeyCharactersMax) return { key, retry: 0 }
    throw new ApiError('invalid_parameter', {
      param: 'Idempotency-Key',
      message: `'Idempotency-Key' must be 1 to ${idempotencyKeyCharactersMax} printable characters.`,
    })
  }
  if (answer.schema === undefined || !Object.keys(headers).some((name) => name.startsWith('x-stainless-'))) {
    return undefined
  }
  const retries = String(headers['x-stainless-retry-count'] ?? '')
  return { key, retry: /^\d{1,4}$/.test(retries) ? Number(retries) : 0 }
}

/** What a request says about itself, in its path, its query, its body or its answer. */
const notedOf = (
  { isModel, isTaskId }: Pick<ApiServer, 'isModel' | 'isTaskId'>,
  { id, model }: { id?: unknown; model?: unknown },
): Noted => ({
  ...(typeof model === 'string' && isModel(model) && { model }),
  ...(typeof id === 'string' && isTaskId(id) && { taskId: id }),
})

export const bindOperation = <O extends Operation>(
  server: ApiServer,
  operation: O,
  handler: Handler<O>,
): void => {
  const readQuery = queryReader(operation)
  const formParts = formPartsOf(operation)
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const query = readQuery(request)
    let wantsQuote = asksForQuote(
      operation,
      fieldsOf('form', new Map(Object.entries(request.query as object))),
    )
    const givenNames = wantsQuote ? undefined : namesOf(operation, request)
    const { ticket } = request
    // Found out once, before the first expensive thing is done for the caller.
    let solvency: Promise<void> | undefined
    const assertSolvent = async (): Promise<void> => {
      const { caller } = request
      if (operation.creates !== true || wantsQuote || caller === undefined) return
      const endChecks = await server.beginChecks(request)
      try {
        if (
          givenNames !== undefined &&
          (await server.idempotency.mayReplay(caller, operation.id, givenNames))
        )
          return
        const insolvency = await server.findInsolvency(caller, operation)
        if (insolvency !== undefined) throw insolvency
      } finally {
        endChecks()
      }
    }
    const beforeExpensive = () => (solvency ??= assertSolvent())
    const reading: BodyReading = {
      ...server.body,
      ticket,
      sizeBytesMax: operation.body?.sizeBytesMax ?? 0,
      beforeLarge: async () => {
        ticket.take('uploads', 1)
        await beforeExpensive()
      },
      beforeForm: beforeExpensive,
    }
    const { fields, discard } = await readBody(operation, request, reading, formParts, server)
    try {
      wantsQuote = asksForQuote(operation, fields) || wantsQuote
    } catch (error) {
      await discard()
      throw error
    }
    const names = wantsQuote ? undefined : givenNames
    const gone = goneOf(reply.raw, server.closing)
    const note = (noted: Noted) => {
      request.noted = { ...request.noted, ...noted }
    }
    const { id = query['id'] } = request.params as Record<string, string>
    note(notedOf(server, { id, model: fields.value('model') }))
    const ignored = new Set<string>()
    const call: Call<O> = {
      path: request.params as Call<O>['path'],
      query: query as Call<O>['query'],
      header: (name) => headerOf(request, name),
      headers: request.headers,
      address: request.ip,
      method: request.method,
      isUnderOpenAi: isUnderOpenAi(request.originalUrl),
      // An operation without a key never looks at its caller.
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
      wantsQuote,
      findInsolvency: () => server.findInsolvency(call.caller, operation),
      repeatOf: undefined,
      keep: () => undefined,
      // Who gave the request a name may come back for the reply.
      signal: names?.key === undefined ? gone.signal : new AbortController().signal,
      waitSignal: () => {
        server.closing.tell(gone)
        return gone.signal
      },
      ...bindMediaWork(server.mediaWork, beforeExpensive, () => call),
    }
    const withIgnored = ({ headers, ...replied }: Reply<unknown>): Reply<unknown> => ({
      ...replied,
      headers: {
        ...headers,
        ...(ignored.size > 0 && { 'x-ignored-params': headerText([...ignored].slice(0, 20)) }),
      },
    })
    const runOnce = async (named: RequestNames): Promise<Reply<unknown>> => {
      const fingerprint = await server.idempotency.fingerprintOf(operation.id, call)
      const attempt = { ...named, caller: call.caller, operation: operation.id, fingerprint }
      return server.idempotency.runOnce(attempt, gone.signal, async ({ keep, repeatOf }) => {
        const keepAll: Call['keep'] = (taskId, replied) => keep(taskId, withIgnored(replied))
        return withIgnored(await handler({ ...call, repeatOf, keep: keepAll }))
      })
    }
    try {
      const replied = names === undefined ? withIgnored(await handler(call)) : await runOnce(names)
      const { body } = replied
      try {
        if (typeof body === 'object' && body !== null) note(notedOf(server, body))
        return await send(reply, operation, replied, server.log)
      } catch (error) {
        discardBody(body, server.log)
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
    // A HEAD is answered as its GET would be, by what answers the GET; the server leaves the body out.
    method: operation.method === 'GET' ? ['GET', 'HEAD'] : operation.method,
    exposeHeadRoute: false,
    url: operation.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { operation: operation.id },
    // Before the framework looks at the body's headers: a stranger learns nothing but that they are one.
    onRequest: async (request, reply) => {
      if (operation.creates === true && server.isOverloaded()) throw overloaded()
      if (operation.access === 'key' || operation.access === 'operator')
        await admit(operation, request, reply, server)
      request.ticket = openTicket(request, reply, server.admission)
      request.endChecks?.()
    },
    handler: async (request, reply) => {
      const { ticket } = request
      ticket.holds += 1
      try {
        return await answer(request, reply)
      } finally {
        ticket.letGo()
      }
    },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    ticket: RequestTicket
    /** Says that this request was checked, and the next one of its address may be. */
    endChecks: (() => void) | undefined
    caller: Caller | undefined
    operator: Operator | undefined
  }
  interface FastifyContextConfig {
    operation?: string
  }
}

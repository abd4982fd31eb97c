import { Readable } from 'node:stream'

import { Agent, buildConnector, type Dispatcher } from 'undici'

import { createSafeFetch, SafeFetchError } from '../../../safe-fetch/safe-fetch.ts'
import { noteExchange } from '../../port/exchange.ts'
import { ProviderFailure } from '../../port/failure.ts'
import { parseJson } from '../json/lenient-json.ts'
import { type AnswerHeaders, failureOfAnswer, failureOfOurs, one } from './classify.ts'
import { describeResponse } from './describe-response.ts'
import { type StreamedBody, UnreadablePart } from './multipart.ts'
import { redactor } from './redact.ts'

const longestJsonBytes = 1024 * 1024
const mostRedirects = 3
/** A finished video that stops coming for this long is not coming. */
const stalledBodyTimeoutMs = 60_000
/** Far above any clock that an operator sets for a download. */
const longestDownloadMs = 24 * 60 * 60 * 1000

export interface UpstreamSettings {
  baseUrl: string
  /** Sent as a bearer token, and to the origin of `baseUrl` only. */
  apiKey?: string | undefined
  /** Headers that are sent instead of the bearer token, to the same origin only. Their values are secrets. */
  credential?: Record<string, string> | undefined
  /** What else no message may repeat, such as a credential that somebody else puts into headers. */
  secrets?: string[] | undefined
  /** Origins that a result may be fetched from although their addresses are private. */
  resultOrigins?: string[] | undefined
  /** How many connections to one origin may be open at a time; further calls wait their turn. */
  connections?: number | undefined
  connectTimeoutMs?: number | undefined
  /** A provider of our own: its codes are the public ones, and its sentences are meant for callers. */
  isOurs?: boolean | undefined
  /** What a failed answer of this vendor means, where its words are not the usual ones. */
  failureOf?: typeof failureOfAnswer | undefined
}

export interface Call {
  /** Which call it is, for failure messages: "submit", "check". */
  what: string
  method: Dispatcher.HttpMethod
  /** Below the base URL, starting with a slash, with every variable part already encoded. */
  path: string
  headers?: Record<string, string>
  body?: StreamedBody
  /**
   * Never uses a kept connection. One that the vendor is just closing would leave us unsure whether the
   * request arrived, which matters more than a handshake when the request must not be repeated.
   */
  freshConnection?: boolean
  /** Statuses outside 2xx that answer this call just as well. */
  alsoFine?: number[]
  /** Statuses outside 2xx whose answer is read as JSON like any other. */
  alsoRead?: number[]
  /** What an answer read as JSON may have, where that is more than usual. */
  answerBytesMax?: number
  /** True where an opened answer may be JSON as well. */
  takesJson?: true
  /** How long an opened answer may say nothing, where that is longer than usual. */
  stalledMs?: number
  /** The only clock of the call, from connecting to the last byte of the answer. */
  signal: AbortSignal
}

/** An address that the vendor named as the place of its result. */
interface Link {
  /** Which call it is, for failure messages: "download". */
  what: string
  url: string
  /** How long it may say nothing, where that is longer than usual. */
  stalledMs?: number
  /** The only clock, from connecting to the last byte. */
  signal: AbortSignal
}

interface JsonAnswer {
  status: number
  headers: AnswerHeaders
  body: unknown
}

interface TextAnswer {
  status: number
  headers: AnswerHeaders
  text: string
}

interface StreamedAnswer {
  status: number
  headers: AnswerHeaders
  bytes: Readable
}

interface Sent {
  answer: Dispatcher.ResponseData
  /** To be called once, with what may be shown of the answer. */
  note: (seen: string) => void
}

/** One provider's HTTP side. Its methods throw only `ProviderFailure`, with messages fit for a log. */
export interface Upstream {
  callJson: (call: Call) => Promise<JsonAnswer>
  /** Any answer, whatever its status, for who reads answers in their own way. */
  callText: (call: Call) => Promise<TextAnswer>
  /**
   * Opens a successful answer as it comes. The signal stays in force until its last byte is read. A call with a body
   * follows no redirect, because that body has been sent.
   */
  openAnswer: (call: Call) => Promise<StreamedAnswer>
  /** The same, where the bytes are all that matters. */
  openStream: (call: Call) => Promise<Readable>
  /**
   * Opens a result where the vendor says it is: at the vendor itself as any call, elsewhere without credentials and only
   * at public addresses or `resultOrigins`. A link that is refused or leads nowhere (403, 404, 410) is `rejected`.
   */
  openLink: (link: Link) => Promise<Readable>
  redact: (text: string) => string
}

export function upstreamAt(settings: UpstreamSettings): Upstream {
  const base = new URL(settings.baseUrl)
  if (base.protocol !== 'https:' && base.protocol !== 'http:') {
    throw new Error('A provider base URL must start with https:// or http://')
  }
  const basePath = base.pathname.replace(/\/+$/, '')
  const credential: Record<string, string> = settings.credential ?? {
    ...(settings.apiKey !== undefined && { authorization: `Bearer ${settings.apiKey}` }),
  }
  const redact = redactor([
    // Some have the name of a scheme before them, which is no secret.
    ...Object.values(credential).map((value) => value.slice(value.lastIndexOf(' ') + 1)),
    ...[base.host, base.hostname],
    ...(settings.secrets ?? []),
  ])

  /** For everywhere but the vendor's own origin. That one is listed for results elsewhere that lead back to it. */
  const safeFetch = createSafeFetch({
    allowOrigins: [base.origin, ...(settings.resultOrigins ?? [])],
    bodiesPerOriginMax: settings.connections ?? 64,
    connectTimeoutMs: settings.connectTimeoutMs ?? 10_000,
    headersTimeoutMs: stalledBodyTimeoutMs,
    slowGraceMs: stalledBodyTimeoutMs,
    totalTimeoutMs: longestDownloadMs,
  })

  // Whatever fails inside the connector, TLS included, fails before a byte of any request is written.
  const failedToConnect = new WeakSet<Error>()
  const connect = buildConnector({ timeout: settings.connectTimeoutMs ?? 10_000, allowH2: false })
  const agentOptions: Agent.Options = {
    connections: settings.connections ?? 64,
    allowH2: false,
    // A call's own signal is its clock: an hour of sound takes longer to write down than any time-out set here.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) => {
      connect(options, (...outcome) => {
        if (outcome[0] !== null) failedToConnect.add(outcome[0])
        callback(...outcome)
      })
    },
  }
  const keepingAgent = new Agent(agentOptions)
  const freshAgent = new Agent({ ...agentOptions, pipelining: 0 })

  function addressOf(call: Call): URL {
    return new URL(`${base.origin}${basePath}${call.path}`)
  }

  /** Answers what to call once it is known how a call went. */
  function noting(call: Call, path: string): (status: number | undefined, answer: string) => void {
    const beganAtMs = performance.now()
    return (status, answer) => {
      const ms = Math.round(performance.now() - beganAtMs)
      noteExchange({ what: call.what, method: call.method, path, status, ms, answer })
    }
  }

  /** Below the base, where it is, and with nothing in it that could open anything. */
  function shownPath(url: URL): string {
    const below = url.pathname.startsWith(basePath) ? url.pathname.slice(basePath.length) : url.pathname
    return below
      .split('/')
      .map((step) => redact(step))
      .join('/')
  }

  async function send(call: Call, url: URL, bodyTimeout?: number): Promise<Sent> {
    const { body } = call
    const headers: Record<string, string> = {
      accept: '*/*',
      'user-agent': 'kinora',
      ...call.headers,
      ...credential,
      // A small answer that unpacks into a large one is no answer, so nothing is ever unpacked.
      'accept-encoding': 'identity',
    }
    if (body !== undefined) headers['content-type'] = body.contentType
    if (body?.lengthBytes !== undefined) headers['content-length'] = String(body.lengthBytes)
    const note = noting(call, shownPath(url))
    try {
      const agent = call.freshConnection === true ? freshAgent : keepingAgent
      const asked = agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method,
        headers,
        body: body?.stream ?? null,
        signal: call.signal,
        ...(bodyTimeout === undefined ? {} : { bodyTimeout }),
      })
      const answer = await untilAborted(asked, call.signal)
      return { answer, note: (seen) => note(answer.statusCode, seen) }
    } catch (error) {
      // The head goes out with the first bytes of the body, so an unread body is an unsent request.
      const unsent = body !== undefined && !body.stream.readableDidRead
      body?.stream.destroy()
      const isOurs = error instanceof UnreadablePart
      const certain = unsent || isOurs || (error instanceof Error && failedToConnect.has(error))
      const reason = redact(isOurs ? error.message : nameOf(error))
      note(undefined, reason)
      throw new ProviderFailure(certain ? 'not_delivered' : 'unknown', `${call.what} failed: ${reason}`)
    }
  }

  /** The answer's text, which its exchange is noted with; undefined where it is too long. Throws where it breaks off. */
  async function readAnswer(call: Call, { answer, note }: Sent): Promise<string | undefined> {
    try {
      const text = await readText(answer.body, call.answerBytesMax ?? longestJsonBytes)
      if (text === undefined) note('too large a body')
      else note(isPacked(answer) ? '' : describeResponse(text, one(answer.headers['content-type']), redact))
      return text
    } catch (error) {
      note(`broke off: ${nameOf(error)}`)
      throw error
    }
  }

  async function failureOf(call: Call, sent: Sent): Promise<ProviderFailure> {
    const { answer } = sent
    // The status alone already tells enough, should its body not arrive.
    const text = await readAnswer(call, sent).catch(() => undefined)
    const body = text === undefined || isPacked(answer) ? undefined : parseJson(text)
    const failed = { what: call.what, status: answer.statusCode, headers: answer.headers, body }
    const usual = settings.isOurs === true ? failureOfOurs : failureOfAnswer
    return (settings.failureOf ?? usual)(failed, redact)
  }

  async function assertSuccess(call: Call, sent: Sent): Promise<void> {
    if (!isSuccess(sent.answer)) throw await failureOf(call, sent)
    if (!isPacked(sent.answer)) return
    discardBody(sent.answer)
    sent.note('a content encoding that it was not offered')
    throw new ProviderFailure('unknown', `${call.what} answered with a content encoding it was not offered`)
  }

  async function readWhole(call: Call, sent: Sent): Promise<string> {
    let text: string | undefined
    try {
      text = await readAnswer(call, sent)
    } catch (error) {
      throw new ProviderFailure('unknown', redact(`${call.what} broke off while answering: ${nameOf(error)}`))
    }
    if (text === undefined)
      throw new ProviderFailure('unknown', `${call.what} answered with too large a body`)
    return text
  }

  async function callText(call: Call): Promise<TextAnswer> {
    const sent = await send(call, addressOf(call))
    const { statusCode: status, headers } = sent.answer
    if (!isSuccess(sent.answer)) {
      const text = await readAnswer(call, sent).catch(() => undefined)
      return { status, headers, text: text === undefined || isPacked(sent.answer) ? '' : text }
    }
    await assertSuccess(call, sent)
    return { status, headers, text: await readWhole(call, sent) }
  }

  async function callJson(call: Call): Promise<JsonAnswer> {
    const sent = await send(call, addressOf(call))
    const { statusCode: status, headers } = sent.answer
    if (call.alsoFine?.includes(status) === true) {
      discardBody(sent.answer)
      sent.note('')
      return { status, headers, body: undefined }
    }
    if (call.alsoRead?.includes(status) !== true) await assertSuccess(call, sent)
    const text = await readWhole(call, sent)
    const body = parseJson(text)
    if (body === undefined && text.trim() !== '') {
      throw new ProviderFailure('unknown', `${call.what} answered ${status} without JSON`)
    }
    return { status, headers, body }
  }

  async function openAnswer(call: Call): Promise<StreamedAnswer> {
    return openAt(call, addressOf(call))
  }

  async function openLink(link: Link): Promise<Readable> {
    const call: Call = { ...link, method: 'GET', path: '' }
    // Some vendors leave out their own name.
    const url = URL.parse(link.url, base.href)
    const isListed = settings.resultOrigins?.includes(url?.origin ?? '') === true
    if (url === null || !(isListed || mayFollow(base, url))) {
      throw new ProviderFailure('unknown', `${link.what} was pointed where we do not go`)
    }
    if (url.origin !== base.origin) return (await openElsewhere(call, url, mostRedirects)).bytes
    try {
      return (await openAt(call, url)).bytes
    } catch (error) {
      // A link carries its own permission, so a refused one says nothing about our credential.
      if (!(error instanceof ProviderFailure) || error.kind !== 'unauthorized') throw error
      throw new ProviderFailure('rejected', error.message, { code: error.code })
    }
  }

  /** Opens an address of the vendor itself, and follows it to wherever it leads. */
  async function openAt(call: Call, first: URL): Promise<StreamedAnswer> {
    let url = first
    for (let redirects = 0; ; redirects += 1) {
      const sent = await send(call, url, call.stalledMs ?? stalledBodyTimeoutMs)
      const { answer } = sent
      const location = one(answer.headers['location'])
      if (answer.statusCode >= 300 && answer.statusCode < 400 && location !== undefined) {
        discardBody(answer)
        sent.note('')
        const next = URL.parse(location, url.href)
        const isLast = redirects === mostRedirects || call.method !== 'GET'
        if (isLast || next === null || !mayFollow(url, next)) {
          throw new ProviderFailure('unknown', `${call.what} was redirected where we do not follow`)
        }
        if (next.origin !== base.origin) return openElsewhere(call, next, mostRedirects - redirects - 1)
        url = next
        continue
      }
      if (call.alsoFine?.includes(answer.statusCode) !== true) await assertSuccess(call, sent)
      sent.note('')
      return streamed(call, answer.statusCode, answer.headers, answer.body)
    }
  }

  /** Opens an address of anybody else. No credential goes there, nor back from there. */
  async function openElsewhere(call: Call, url: URL, redirectsMax: number): Promise<StreamedAnswer> {
    const note = noting(call, '(a link)')
    try {
      // Whoever keeps the result counts its bytes.
      const limits = { sizeBytesMax: Number.POSITIVE_INFINITY, redirectsMax, signal: call.signal }
      const { stream, contentType } = await safeFetch.open(url.href, limits)
      note(200, '')
      return streamed(call, 200, { 'content-type': contentType }, stream)
    } catch (error) {
      if (error instanceof ProviderFailure) throw error
      const status = error instanceof SafeFetchError ? error.status : undefined
      note(status, nameOf(error))
      const message = redact(`${call.what} failed: ${nameOf(error)}`)
      if (status === 403 || status === 404 || status === 410) {
        throw new ProviderFailure('rejected', message, { code: 'upstream_error' })
      }
      throw new ProviderFailure('unknown', message)
    }
  }

  function streamed(call: Call, status: number, headers: AnswerHeaders, body: Readable): StreamedAnswer {
    if (call.takesJson !== true && isJson(headers)) {
      discardBody({ body })
      throw new ProviderFailure('unknown', `${call.what} answered with JSON instead of a file`)
    }
    const bytes = relay(body, (error) => {
      return new ProviderFailure('unknown', redact(`${call.what} broke off: ${nameOf(error)}`))
    })
    return { status, headers, bytes }
  }

  return {
    callJson,
    callText,
    openAnswer,
    openStream: async (call) => (await openAnswer(call)).bytes,
    openLink,
    redact,
  }
}

/**
 * A request that waits for a connection notices only when it has one that its signal went off meanwhile. It is never sent
 * then, so there is nothing to wait for.
 */
async function untilAborted<Answer>(asked: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(signal.reason)
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([asked, aborted])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

function isSuccess(answer: Dispatcher.ResponseData): boolean {
  return answer.statusCode >= 200 && answer.statusCode < 300
}

function isPacked(answer: Dispatcher.ResponseData): boolean {
  return !/^(identity)?$/i.test(one(answer.headers['content-encoding'])?.trim() ?? '')
}

export function isJson(headers: AnswerHeaders): boolean {
  return /^application\/(\w+\+)?json\b/i.test(one(headers['content-type']) ?? '')
}

/** Giving up the connection is cheaper than reading an answer of unknown length to its end. */
function discardBody(answer: { body: Readable }): void {
  answer.body.on('error', () => {}).destroy()
}

function mayFollow(from: URL, to: URL): boolean {
  return to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
}

/** Error messages of the network stack name hosts and addresses; their codes do not, nor do our own. */
function nameOf(error: unknown): string {
  if (error instanceof SafeFetchError) return error.message
  if (!(error instanceof Error)) return 'error'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}

/** The body as text, or `undefined` when it is longer than it may be. */
export async function readText(body: Readable, bytesMax: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The same bytes, but a break ends in a `ProviderFailure`, and dropping the copy drops the connection. */
function relay(body: Readable, failureFor: (error: Error) => ProviderFailure): Readable {
  const copy = new Readable({
    read: () => {
      body.resume()
    },
    destroy: (error, callback) => {
      body.destroy()
      callback(error)
    },
  })
  body.on('data', (chunk: Buffer) => {
    if (!copy.push(chunk)) body.pause()
  })
  body.on('end', () => copy.push(null))
  body.on('error', (error) => copy.destroy(failureFor(error)))
  body.pause()
  // A break may come before the reader listens; it still finds the error on the stream.
  copy.on('error', () => {})
  return copy
}

import { Readable } from 'node:stream'

import { Agent, buildConnector, type Dispatcher } from 'undici'

import { ProviderFailure } from '../port/failure.ts'
import { type AnswerHeaders, failureOfAnswer, failureOfOurs, one } from './classify.ts'
import { parseJson } from './loose-json.ts'
import { type StreamedBody, UnreadablePart } from './multipart.ts'
import { redactor } from './redact.ts'

const longestJsonBytes = 1024 * 1024
const mostRedirects = 3
/** A finished video that stops coming for this long is not coming. */
const stalledBodyTimeoutMs = 60_000

export interface UpstreamSettings {
  baseUrl: string
  /** Sent as a bearer token, and to the origin of `baseUrl` only. */
  apiKey?: string | undefined
  /** How many connections to one origin may be open at a time; further calls wait their turn. */
  connections?: number | undefined
  connectTimeoutMs?: number | undefined
  /** A provider of our own: its codes are the public ones, and its sentences are meant for callers. */
  isOurs?: boolean | undefined
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
  /** What an answer read as JSON may have, where that is more than usual. */
  answerBytesMax?: number
  /** True where an opened answer may be JSON as well. */
  takesJson?: true
  /** How long an opened answer may say nothing, where that is longer than usual. */
  stalledMs?: number
  /** The only clock of the call, from connecting to the last byte of the answer. */
  signal: AbortSignal
}

interface JsonAnswer {
  status: number
  headers: AnswerHeaders
  body: unknown
}

interface StreamedAnswer {
  headers: AnswerHeaders
  bytes: Readable
}

/** One provider's HTTP side. Its methods throw only `ProviderFailure`, with messages fit for a log. */
export interface Upstream {
  callJson: (call: Call) => Promise<JsonAnswer>
  /**
   * Opens a successful answer as it comes. The signal stays in force until its last byte is read. A call with a body
   * follows no redirect, because that body has been sent.
   */
  openAnswer: (call: Call) => Promise<StreamedAnswer>
  /** The same, where the bytes are all that matters. */
  openStream: (call: Call) => Promise<Readable>
  redact: (text: string) => string
}

export function upstreamAt(settings: UpstreamSettings): Upstream {
  const base = new URL(settings.baseUrl)
  if (base.protocol !== 'https:' && base.protocol !== 'http:') {
    throw new Error('A provider base URL must start with https:// or http://')
  }
  const basePath = base.pathname.replace(/\/+$/, '')
  const redact = redactor([settings.apiKey ?? '', base.host, base.hostname])

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

  async function send(
    call: Call,
    url: URL,
    credential: boolean,
    bodyTimeout?: number,
  ): Promise<Dispatcher.ResponseData> {
    const { body } = call
    const headers: Record<string, string> = { accept: '*/*', 'user-agent': 'kinora', ...call.headers }
    if (credential && settings.apiKey !== undefined) headers['authorization'] = `Bearer ${settings.apiKey}`
    if (body !== undefined) headers['content-type'] = body.contentType
    if (body?.lengthBytes !== undefined) headers['content-length'] = String(body.lengthBytes)
    try {
      return await (call.freshConnection === true ? freshAgent : keepingAgent).request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method,
        headers,
        body: body?.stream ?? null,
        signal: call.signal,
        ...(bodyTimeout === undefined ? {} : { bodyTimeout }),
      })
    } catch (error) {
      // The head goes out with the first bytes of the body, so an unread body is an unsent request.
      const unsent = body !== undefined && !body.stream.readableDidRead
      body?.stream.destroy()
      const isOurs = error instanceof UnreadablePart
      const certain = unsent || isOurs || (error instanceof Error && failedToConnect.has(error))
      const reason = isOurs ? error.message : nameOf(error)
      throw new ProviderFailure(
        certain ? 'not_delivered' : 'unknown',
        redact(`${call.what} failed: ${reason}`),
      )
    }
  }

  async function failureOf(call: Call, answer: Dispatcher.ResponseData): Promise<ProviderFailure> {
    // The status alone already tells enough, should its body not arrive.
    const text = await readText(answer.body, longestJsonBytes).catch(() => undefined)
    const body = text === undefined ? undefined : parseJson(text)
    const failed = { what: call.what, status: answer.statusCode, headers: answer.headers, body }
    return settings.isOurs === true ? failureOfOurs(failed, redact) : failureOfAnswer(failed, redact)
  }

  async function callJson(call: Call): Promise<JsonAnswer> {
    const answer = await send(call, new URL(`${base.origin}${basePath}${call.path}`), true)
    if (call.alsoFine?.includes(answer.statusCode) === true) {
      discardBody(answer)
      return { status: answer.statusCode, headers: answer.headers, body: undefined }
    }
    if (!isSuccess(answer)) throw await failureOf(call, answer)
    let text: string | undefined
    try {
      text = await readText(answer.body, call.answerBytesMax ?? longestJsonBytes)
    } catch (error) {
      throw new ProviderFailure('unknown', redact(`${call.what} broke off while answering: ${nameOf(error)}`))
    }
    if (text === undefined)
      throw new ProviderFailure('unknown', `${call.what} answered with too large a body`)
    const body = parseJson(text)
    if (body === undefined && text.trim() !== '') {
      throw new ProviderFailure('unknown', `${call.what} answered ${answer.statusCode} without JSON`)
    }
    return { status: answer.statusCode, headers: answer.headers, body }
  }

  async function openAnswer(call: Call): Promise<StreamedAnswer> {
    let url = new URL(`${base.origin}${basePath}${call.path}`)
    let credential = true
    for (let redirects = 0; ; redirects += 1) {
      const answer = await send(call, url, credential, call.stalledMs ?? stalledBodyTimeoutMs)
      const location = one(answer.headers['location'])
      if (answer.statusCode >= 300 && answer.statusCode < 400 && location !== undefined) {
        discardBody(answer)
        const next = URL.parse(location, url.href)
        const isLast = redirects === mostRedirects || call.body !== undefined
        if (isLast || next === null || !mayFollow(url, next)) {
          throw new ProviderFailure('unknown', `${call.what} was redirected where we do not follow`)
        }
        credential &&= next.origin === base.origin
        url = next
        continue
      }
      if (!isSuccess(answer)) throw await failureOf(call, answer)
      if (call.takesJson !== true && isJson(answer.headers)) {
        discardBody(answer)
        throw new ProviderFailure('unknown', `${call.what} answered with JSON instead of a file`)
      }
      const bytes = relay(answer.body, (error) => {
        return new ProviderFailure('unknown', redact(`${call.what} broke off: ${nameOf(error)}`))
      })
      return { headers: answer.headers, bytes }
    }
  }

  return { callJson, openAnswer, openStream: async (call) => (await openAnswer(call)).bytes, redact }
}

function isSuccess(answer: Dispatcher.ResponseData): boolean {
  return answer.statusCode >= 200 && answer.statusCode < 300
}

export function isJson(headers: AnswerHeaders): boolean {
  return /^application\/(\w+\+)?json\b/i.test(one(headers['content-type']) ?? '')
}

/** Giving up the connection is cheaper than reading an answer of unknown length to its end. */
function discardBody(answer: Dispatcher.ResponseData): void {
  answer.body.on('error', () => {}).destroy()
}

function mayFollow(from: URL, to: URL): boolean {
  return to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
}

/** Error messages of the network stack name hosts and addresses; their codes do not. */
function nameOf(error: unknown): string {
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

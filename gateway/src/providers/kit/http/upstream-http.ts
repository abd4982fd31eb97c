import type { Readable } from 'node:stream'

import { Agent, buildConnector, type Dispatcher } from 'undici'

import { SafeFetchError } from '../../../safe-fetch/safe-fetch-error.ts'
import { createSafeFetch } from '../../../safe-fetch/safe-fetch.ts'
import { ProviderFailure, ResultTooLarge, resultBytesMax } from '../../port/failure.ts'
import { sendDeadlineMs } from '../../port/send-deadline.ts'
import { parseJson } from '../json/lenient-json.ts'
import { type AnswerHeaders, failureOfAnswer, failureOfOurs, one } from './classify.ts'
import { describeResponse } from './describe-response.ts'
import { isRefusedAddress, lookUpProvider, problemWithHost } from './link-local.ts'
import { UnreadablePart } from './multipart.ts'
import { redactor } from './redact.ts'
import {
  discardBody,
  errorName,
  isEncoded,
  isJson,
  isLocalError,
  isSuccess,
  isTooLarge,
  mayFollow,
  readText,
  relay,
  untilAborted,
} from './response-body.ts'
import { startExchange } from './start-exchange.ts'
import { timelyBody } from './timely-body.ts'
import type { Call, JsonAnswer, Link, StreamedAnswer, TextAnswer } from './upstream-call.ts'

const jsonBytesMax = 1024 * 1024
const redirectsMax = 3
/** A body without new bytes for this long has stalled. */
const stalledBodyTimeoutMs = 60_000
/** Far above any configurable download timeout. */
const downloadMsMax = 24 * 60 * 60 * 1000

export interface UpstreamSettings {
  baseUrl: string
  /** Sent as a bearer token, and to the origin of `baseUrl` only. */
  apiKey?: string | undefined
  /** Headers sent instead of the bearer token, to the same origin only. Their values are secrets. */
  credential?: Record<string, string> | undefined
  /** Further secrets that no message may contain, such as a credential that other code puts into headers. */
  secrets?: string[] | undefined
  /** Origins with private addresses that results may be downloaded from. */
  resultOrigins?: string[] | undefined
  /** Maximum of open connections per origin; further calls wait. */
  connections?: number | undefined
  connectTimeoutMs?: number | undefined
  /** Whether calls carry the header `traceparent` of their trace. */
  traceparent?: boolean | undefined
  /** The built-in provider: its codes are the public ones, and its messages are for callers. */
  isOurs?: boolean | undefined
  /** Classifies failed responses of a vendor with an unusual format. */
  failureOf?: typeof failureOfAnswer | undefined
}

interface Sent {
  answer: Dispatcher.ResponseData
  /** Must be called once, with the part of the response that may be shown. */
  note: (shown: string) => void
}

/** The HTTP client of one provider. It throws only `ProviderFailure`, with messages that are safe to log. */
export interface Upstream {
  callJson: (call: Call) => Promise<JsonAnswer>
  /** Returns the response whatever its status. */
  callText: (call: Call) => Promise<TextAnswer>
  /**
   * Opens a successful response as a stream. The signal applies until the last byte is read. A call with a body follows
   * no redirects, because its body has been sent.
   */
  openAnswer: (call: Call) => Promise<StreamedAnswer>
  openStream: (call: Call) => Promise<Readable>
  /**
   * Opens a result at the URL that the vendor gave: at the vendor's origin like any call, elsewhere without credentials
   * and only at public addresses or `resultOrigins`. A link that is refused or gone (403, 404, 410) is `rejected`.
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
    // The scheme before a token, such as Bearer, is not secret.
    ...Object.values(credential).map((value) => value.slice(value.lastIndexOf(' ') + 1)),
    ...[base.host, base.hostname],
    ...(settings.secrets ?? []),
  ])

  /** For other origins than the vendor's. The vendor's own is allowed for redirects back to it. */
  const safeFetch = createSafeFetch({
    allowOrigins: [base.origin, ...(settings.resultOrigins ?? [])],
    isRefusedAddress,
    bodiesPerOriginMax: settings.connections ?? 64,
    connectTimeoutMs: settings.connectTimeoutMs ?? 10_000,
    headersTimeoutMs: stalledBodyTimeoutMs,
    // Only a stalled body is this slow. Readers of results have a minimum rate of their own.
    minimumRate: { bytesPerSecondMin: 1, windowMs: stalledBodyTimeoutMs },
    totalTimeoutMs: downloadMsMax,
  })

  // Errors of the connector, TLS included, occur before any byte of a request is written.
  const failedToConnect = new WeakSet<Error>()
  const connect = buildConnector({
    ...{ timeout: settings.connectTimeoutMs ?? 10_000, allowH2: false },
    ...{ lookup: lookUpProvider },
  })
  const agentOptions: Agent.Options = {
    connections: settings.connections ?? 64,
    allowH2: false,
    // The signal of the call is its timeout: transcribing an hour of audio can take longer than any fixed one.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) => {
      const finish: typeof callback = (...outcome) => {
        if (outcome[0] !== null) failedToConnect.add(outcome[0])
        callback(...outcome)
      }
      const problem = problemWithHost(options.hostname)
      if (problem === undefined) connect(options, finish)
      else finish(problem, null)
    },
  }
  const keepAliveAgent = new Agent(agentOptions)
  const freshAgent = new Agent({ ...agentOptions, pipelining: 0 })

  function urlOf(call: Call): URL {
    return new URL(`${base.origin}${basePath}${call.path}`)
  }

  /** The path relative to the base URL, without anything that looks like a secret. */
  function shownPath(url: URL): string {
    const below = url.pathname.startsWith(basePath) ? url.pathname.slice(basePath.length) : url.pathname
    return below
      .split('/')
      .map((step) => redact(step))
      .join('/')
  }

  async function send(call: Call, url: URL, bodyTimeout?: number): Promise<Sent> {
    const { body } = call
    const { note, traceHeaders } = startExchange(call, shownPath(url), settings.traceparent === true)
    const headers: Record<string, string> = {
      accept: '*/*',
      'user-agent': 'kinora',
      ...call.headers,
      ...traceHeaders,
      ...credential,
      // Responses are never decompressed, which rules out decompression bombs.
      'accept-encoding': 'identity',
    }
    if (body !== undefined) headers['content-type'] = body.contentType
    if (body?.lengthBytes !== undefined) headers['content-length'] = String(body.lengthBytes)
    const deadlineMs = sendDeadlineMs()
    try {
      const agent = call.freshConnection === true ? freshAgent : keepAliveAgent
      const request = agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: call.method,
        headers,
        body:
          body === undefined || deadlineMs === undefined
            ? (body?.stream ?? null)
            : timelyBody(body.stream, deadlineMs),
        signal: call.signal,
        ...(bodyTimeout === undefined ? {} : { bodyTimeout }),
      })
      const answer = await untilAborted(request, call.signal)
      return { answer, note: (shown) => note(answer.statusCode, shown) }
    } catch (error) {
      // Headers are sent with the first bytes of the body, so the request was not sent if the body was not read.
      const isUnsent = body !== undefined && !body.stream.readableDidRead
      body?.stream.destroy()
      const isUnreadable = error instanceof UnreadablePart
      const isUndelivered = isUnsent || isUnreadable || (error instanceof Error && failedToConnect.has(error))
      const reason = redact(isUnreadable ? error.message : errorName(error))
      note(undefined, reason)
      throw new ProviderFailure(
        isUndelivered ? 'not_delivered' : 'unknown',
        `${call.what} failed: ${reason}`,
        { isLocal: isUnreadable || isLocalError(error), cause: error },
      )
    }
  }

  /** Reads the body and records the exchange; returns undefined if the body is too long. */
  async function readAnswer(call: Call, { answer, note }: Sent): Promise<string | undefined> {
    try {
      const text = await readText(answer.body, call.answerBytesMax ?? jsonBytesMax)
      if (text === undefined) note('too large a body')
      else note(isEncoded(answer) ? '' : describeResponse(text, one(answer.headers['content-type']), redact))
      return text
    } catch (error) {
      note(`connection broke: ${errorName(error)}`)
      throw error
    }
  }

  async function failureOf(call: Call, sent: Sent): Promise<ProviderFailure> {
    const { answer } = sent
    // The status is enough if the body does not arrive.
    const text = await readAnswer(call, sent).catch(() => undefined)
    const body = text === undefined || isEncoded(answer) ? undefined : parseJson(text)
    const failed = { what: call.what, status: answer.statusCode, headers: answer.headers, body }
    const classify = settings.isOurs === true ? failureOfOurs : failureOfAnswer
    return (settings.failureOf ?? classify)(failed, redact)
  }

  async function assertSuccess(call: Call, sent: Sent): Promise<void> {
    if (!isSuccess(sent.answer)) throw await failureOf(call, sent)
    if (!isEncoded(sent.answer)) return
    discardBody(sent.answer)
    sent.note('a content encoding that was not offered')
    throw new ProviderFailure('unknown', `${call.what} answered with a content encoding that was not offered`)
  }

  async function readWhole(call: Call, sent: Sent): Promise<string> {
    let text: string | undefined
    try {
      text = await readAnswer(call, sent)
    } catch (error) {
      throw new ProviderFailure(
        'unknown',
        redact(`${call.what} broke off while answering: ${errorName(error)}`),
        { cause: error },
      )
    }
    if (text === undefined)
      throw new ProviderFailure('unknown', `${call.what} answered with too large a body`)
    return text
  }

  async function callText(call: Call): Promise<TextAnswer> {
    const sent = await send(call, urlOf(call))
    const { statusCode: status, headers } = sent.answer
    if (!isSuccess(sent.answer)) {
      const text = await readAnswer(call, sent).catch(() => undefined)
      return { status, headers, text: text === undefined || isEncoded(sent.answer) ? '' : text }
    }
    await assertSuccess(call, sent)
    return { status, headers, text: await readWhole(call, sent) }
  }

  async function callJson(call: Call): Promise<JsonAnswer> {
    const sent = await send(call, urlOf(call))
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
    return openAt(call, urlOf(call))
  }

  async function openLink(link: Link): Promise<Readable> {
    const call: Call = { ...link, method: 'GET', path: '' }
    // Some vendors give relative URLs.
    const url = URL.parse(link.url, base.href)
    const isListed = settings.resultOrigins?.includes(url?.origin ?? '') === true
    if (url === null || !(isListed || mayFollow(base, url))) {
      throw new ProviderFailure('unknown', `${link.what} was given a URL that is not allowed`)
    }
    if (url.origin !== base.origin) return (await openElsewhere(call, url, redirectsMax)).bytes
    try {
      return (await openAt(call, url)).bytes
    } catch (error) {
      // A link carries its own authorization, so its refusal says nothing about our credential.
      if (!(error instanceof ProviderFailure) || error.kind !== 'unauthorized') throw error
      throw new ProviderFailure('rejected', error.message, { code: error.code, status: error.status })
    }
  }

  /** Opens a URL at the vendor's origin and follows redirects. */
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
        const isLast = redirects === redirectsMax || call.method !== 'GET'
        if (isLast || next === null || !mayFollow(url, next)) {
          throw new ProviderFailure('unknown', `${call.what} was redirected to a URL that is not allowed`)
        }
        if (next.origin !== base.origin) return openElsewhere(call, next, redirectsMax - redirects - 1)
        url = next
        continue
      }
      if (call.alsoFine?.includes(answer.statusCode) !== true) await assertSuccess(call, sent)
      sent.note('')
      return streamed(call, answer.statusCode, answer.headers, answer.body)
    }
  }

  /** Opens a URL at another origin. Credentials are never sent there, nor on a redirect back to the vendor. */
  async function openElsewhere(call: Call, url: URL, redirectsLeft: number): Promise<StreamedAnswer> {
    const { note } = startExchange(call, '(a link)', false)
    try {
      const limits = {
        sizeBytesMax: resultBytesMax,
        redirectsMax: redirectsLeft,
        signal: call.signal,
      }
      const { stream, contentType } = await safeFetch.open(url.href, limits)
      note(200, '')
      return streamed(call, 200, { 'content-type': contentType }, stream)
    } catch (error) {
      if (error instanceof ProviderFailure) throw error
      const status = error instanceof SafeFetchError ? error.status : undefined
      note(status, errorName(error))
      if (isTooLarge(error)) throw new ResultTooLarge(call.what)
      const message = redact(`${call.what} failed: ${errorName(error)}`)
      if (status === 403 || status === 404 || status === 410) {
        throw new ProviderFailure('rejected', message, { code: 'upstream_error', status, cause: error })
      }
      throw new ProviderFailure('unknown', message, { status, cause: error })
    }
  }

  function streamed(call: Call, status: number, headers: AnswerHeaders, body: Readable): StreamedAnswer {
    if (call.acceptsJson !== true && isJson(headers)) {
      discardBody({ body })
      throw new ProviderFailure('unknown', `${call.what} answered with JSON instead of a file`)
    }
    if (Number(one(headers['content-length']) ?? 0) > resultBytesMax) {
      discardBody({ body })
      throw new ResultTooLarge(call.what)
    }
    const bytes = relay(body, (error) =>
      isTooLarge(error)
        ? new ResultTooLarge(call.what)
        : new ProviderFailure('unknown', redact(`${call.what} broke off: ${errorName(error)}`), {
            cause: error,
          }),
    )
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

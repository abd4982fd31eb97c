/** A `fetch` for third-party packages, with all limits and checks of our own provider calls. */
import { Readable } from 'node:stream'

import { ProviderFailure } from '../../port/failure.ts'
import { parseJson } from '../json/lenient-json.ts'
import { type FailedAnswer, failureOfAnswer } from './classify.ts'
import { type Upstream, upstreamAt } from './upstream-http.ts'

export interface FetchSettings {
  /** Only its origin may be called. */
  baseUrl: string
  /** Secrets that the package puts into headers; no message contains them. */
  secrets: string[]
  connections: number
  traceparent?: boolean | undefined
  resultOrigins: string[]
  answerBytesMax: number
}

/** A `fetch` that records the outcome of the last call of a package. */
export interface FetchTrail {
  fetch: typeof globalThis.fetch
  /** Undefined if there was no call, or the last one had no response. */
  lastStatus: () => number | undefined
  /** Undefined if the last call succeeded. */
  lastFailure: () => ProviderFailure | undefined
  /** Whether a request that is not a GET succeeded. Then a later failure leaves the outcome unknown. */
  hasSent: () => boolean
}

export interface UpstreamFetch {
  trail: (what: string, signal: AbortSignal) => FetchTrail
  openLink: Upstream['openLink']
  redact: Upstream['redact']
}

export function upstreamFetch(settings: FetchSettings): UpstreamFetch {
  const { origin } = new URL(settings.baseUrl)
  const upstream = upstreamAt({ ...settings, baseUrl: origin })

  function trail(what: string, signal: AbortSignal): FetchTrail {
    let last: { status?: number; failure?: ProviderFailure } = {}
    let sent = false

    async function send(request: Request): Promise<Response> {
      const url = new URL(request.url)
      if (url.origin !== origin) {
        throw new ProviderFailure('not_delivered', `${what} tried to call another origin than the base URL's`)
      }
      const { status, headers, text } = await upstream.callText({
        ...{ what, method: request.method, path: url.pathname + url.search },
        headers: Object.fromEntries(request.headers),
        ...(request.body !== null && { body: await bodyOf(request) }),
        freshConnection: request.method !== 'GET',
        answerBytesMax: settings.answerBytesMax,
        signal: AbortSignal.any([signal, request.signal]),
      })
      const isOk = status >= 200 && status < 300
      const failed: FailedAnswer = { what, status, headers, body: parseJson(text) }
      last = { status, ...(!isOk && { failure: failureOfAnswer(failed, upstream.redact) }) }
      sent ||= isOk && request.method !== 'GET'
      return new Response([204, 205, 304].includes(status) ? null : text, {
        status,
        headers: Object.entries(headers).flatMap(([name, value = []]) =>
          [value].flat().map((each): [string, string] => [name, each]),
        ),
      })
    }

    return {
      fetch: async (input, init) => {
        last = {}
        try {
          return await send(new Request(input, init))
        } catch (error) {
          const failure = error instanceof ProviderFailure ? error : notSent(what, error)
          last = { failure }
          throw failure
        }
      },
      lastStatus: () => last.status,
      lastFailure: () => last.failure,
      hasSent: () => sent,
    }
  }

  return { trail, openLink: upstream.openLink, redact: upstream.redact }
}

/** The package already holds the whole body in memory. */
async function bodyOf(request: Request) {
  const bytes = Buffer.from(await request.arrayBuffer())
  return {
    contentType: request.headers.get('content-type') ?? 'application/octet-stream',
    lengthBytes: bytes.length,
    stream: Readable.from([bytes], { objectMode: false }),
  }
}

function notSent(what: string, error: unknown): ProviderFailure {
  const name = error instanceof Error ? error.name : 'error'
  return new ProviderFailure('not_delivered', `${what} was not sent: ${name}`)
}

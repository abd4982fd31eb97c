/** A `fetch` for code that is not ours, with everything in force that holds for our own calls to a provider. */
import { Readable } from 'node:stream'

import { ProviderFailure } from '../../port/failure.ts'
import { parseJson } from '../json/lenient-json.ts'
import { type FailedAnswer, failureOfAnswer } from './classify.ts'
import { type Upstream, upstreamAt } from './upstream-http.ts'

export interface FetchSettings {
  /** The one origin that may be called. */
  baseUrl: string
  /** What the foreign code puts into its headers; no message repeats it. */
  secrets: string[]
  connections: number
  resultOrigins: string[]
  answerBytesMax: number
}

/** The calls that a piece of foreign work makes, and how the last of them went. */
export interface FetchTrail {
  fetch: typeof globalThis.fetch
  /** Undefined where nothing was called, or the last call has no answer. */
  lastStatus: () => number | undefined
  /** Why the last call cannot have brought anybody further; undefined where it was answered well. */
  lastFailure: () => ProviderFailure | undefined
  /** True where something was sent that may have changed something: what fails later says nothing about it. */
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
        throw new ProviderFailure('not_delivered', `${what} was to go to another origin than the base URL's`)
      }
      const { status, headers, text } = await upstream.callText({
        ...{ what, method: request.method, path: url.pathname + url.search },
        headers: Object.fromEntries(request.headers),
        ...(request.body !== null && { body: await bodyOf(request) }),
        freshConnection: request.method !== 'GET',
        answerBytesMax: settings.answerBytesMax,
        signal: AbortSignal.any([signal, request.signal]),
      })
      const isFine = status >= 200 && status < 300
      const failed: FailedAnswer = { what, status, headers, body: parseJson(text) }
      last = { status, ...(!isFine && { failure: failureOfAnswer(failed, upstream.redact) }) }
      sent ||= isFine && request.method !== 'GET'
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

/** Foreign code holds its body whole anyway. */
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

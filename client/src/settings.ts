/** Where the service is, and who calls it. */
import { readEnvironment } from './environment.ts'
import { KinoraError } from './kinora-error.ts'
import { createTransport, type Fetch, type Send } from './transport.ts'

export interface KinoraOptions {
  /** Address of the service. Default: `KINORA_URL`, or the origin of the page in a browser. */
  baseUrl?: string
  /** Default: `KINORA_API_KEY`. In a browser without a key, the cookie of a session is sent. */
  apiKey?: string
  fetch?: Fetch
  /** Headers of every request. */
  headers?: Record<string, string>
  /** Time limit of one attempt. Default: ten minutes. */
  timeoutMs?: number
  /** How often a request is sent again. Default: 4. */
  maxRetries?: number
}

/** The address that `kinora dev` uses. */
const devUrl = 'http://127.0.0.1:8787'

/** `fetch` would fail with the key in its message, at each attempt. */
const checkKey = (apiKey: string | undefined): string | undefined => {
  const trimmed = apiKey?.trim()
  if (trimmed === undefined || /^[\x21-\x7E]*$/.test(trimmed)) return trimmed
  throw new KinoraError('not_supported', 'The API key has a character that a key cannot have.')
}

const checkUrl = (url: string): string => {
  const { protocol = '', username = '' } = URL.canParse(url) ? new URL(url) : {}
  if (/^https?:$/.test(protocol) && username === '') return url
  throw new KinoraError('not_supported', 'The base URL must be one such as https://media.example.com.')
}

/** Also accepts the base URL of another client library, which ends with the version. */
const trimBaseUrl = (url: string) => url.replace(/\/+$/, '').replace(/(\/openai)?\/v1$/, '')

export const openTransport = (options: KinoraOptions): { baseUrl: string; send: Send } => {
  const given = readEnvironment(options)
  const pageUrl = (globalThis as { location?: { origin?: string } }).location?.origin
  const baseUrl = checkUrl(trimBaseUrl(given.url ?? pageUrl ?? devUrl))
  const send = createTransport({
    baseUrl,
    apiKey: checkKey(given.apiKey),
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    headers: options.headers ?? {},
    timeoutMs: options.timeoutMs ?? 600_000,
    maxRetries: options.maxRetries ?? 4,
  })
  return { baseUrl, send }
}

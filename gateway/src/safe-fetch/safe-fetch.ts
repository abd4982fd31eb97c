import { connect as connectTcp, isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { connect as connectTls } from 'node:tls'

import { Client, type Dispatcher } from 'undici'

import { concurrencyLimitPerKey } from '../platform/concurrency-limit.ts'
import { atWatchedRate, watchRate, type MinimumRate } from '../platform/streams/minimum-rate.ts'
import { isPublicAddress } from './public-address.ts'
import { createDnsQuery, lookUpHost, type ResolvedAddress, type ResolveName } from './resolve-name.ts'
import { SafeFetchError } from './safe-fetch-error.ts'

interface SafeFetchOptions {
  /** Exact origins exempt from the port and address rules: the operator's own storage or test servers. */
  allowOrigins: string[]
  /** Addresses that even these origins may not have. */
  isRefusedAddress?: (address: string) => boolean
  /** Resolves every name, for tests. */
  resolve?: ResolveName
  /** DNS servers for the names of other origins. Default: those of the system. */
  dnsServers?: string[]
  /** Ports allowed for every origin. */
  ports?: number[]
  /** Budget for the name lookup, and again for the connection with its TLS handshake. */
  connectTimeoutMs?: number
  /** From sending a request, connecting included, to its headers. */
  headersTimeoutMs?: number
  /** Bodies open at once from one origin; others wait, so that a burst of large files stays small in memory. */
  bodiesPerOriginMax?: number
  /** From `open`, or from the end of the wait for a slot, to the last byte, redirects included. */
  totalTimeoutMs?: number
  /** The minimum rate of a body; a stall is the slowest of rates. */
  minimumRate?: MinimumRate
}

interface FetchLimits {
  sizeBytesMax: number
  /** The remaining redirects; default three. */
  redirectsMax?: number
  signal?: AbortSignal
}

interface FetchedBody {
  /** Errors with `SafeFetchError`, or with the reason of the caller's own signal. */
  stream: Readable
  contentType: string | undefined
  /** The final URL after redirects. */
  url: string
}

export interface SafeFetch {
  open: (url: string, limits: FetchLimits) => Promise<FetchedBody>
}

const noPublicAddress = 'its host has no public address; private addresses are not allowed'

const redirectStatuses = new Set([301, 302, 303, 307, 308])
const mostRedirects = 3

/** Fetches a URL that was chosen by a user or a vendor; no other code may do that. */
export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  const {
    dnsServers = [],
    isRefusedAddress = () => false,
    ports = [80, 443],
    connectTimeoutMs = 3_000,
    headersTimeoutMs = 10_000,
    bodiesPerOriginMax = 6,
    totalTimeoutMs = 60_000,
    minimumRate = { bytesPerSecondMin: 16_384, windowMs: 5_000 },
  } = options
  const exemptOrigins = new Set(options.allowOrigins.map(originOf))
  const queryDns = createDnsQuery(dnsServers)
  // Per origin, so that a slow host delays only its own downloads.
  const takeTurn = concurrencyLimitPerKey(bodiesPerOriginMax)

  async function open(url: string, limits: FetchLimits): Promise<FetchedBody> {
    limits.signal?.throwIfAborted()
    const first = permittedUrl(url)
    const leave = await takeTurn(first.origin, limits.signal)
    const stop = new AbortController()
    const stopForCaller = () => stop.abort(limits.signal?.reason)
    limits.signal?.addEventListener('abort', stopForCaller)
    if (limits.signal?.aborted === true) stopForCaller()
    const total = abortAfter(stop, totalTimeoutMs, 'the whole transfer')
    const release = () => {
      clearTimeout(total)
      limits.signal?.removeEventListener('abort', stopForCaller)
      leave()
    }
    try {
      const { target, client, answer } = await follow(first, limits, stop)
      const stream = meteredBody(answer, limits.sizeBytesMax, stop)
      stream.once('close', () => {
        release()
        discard(client)
      })
      return { stream, contentType: headerOf(answer, 'content-type'), url: target.href }
    } catch (error) {
      release()
      throw explained(error, stop.signal)
    }
  }

  /** Requests a URL and the ones it redirects to, until one answers 200. Leaves only that connection open. */
  async function follow(first: URL, limits: FetchLimits, stop: AbortController) {
    const { sizeBytesMax, redirectsMax = mostRedirects } = limits
    let target = first
    for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
      const addresses = await permittedAddresses(target, stop.signal)
      const client = connectOnlyTo(target, addresses)
      let isKept = false
      try {
        const answer = await request(client, target, stop)
        const location = headerOf(answer, 'location')
        if (!redirectStatuses.has(answer.statusCode) || location === undefined) {
          assertUsable(answer, sizeBytesMax)
          isKept = true
          return { target, client, answer }
        }
        target = redirectedUrl(target, location)
      } finally {
        if (!isKept) discard(client)
      }
    }
    throw new SafeFetchError('bad_status', `it redirects more than ${redirectsMax} times`)
  }

  function redirectedUrl(from: URL, location: string): URL {
    const target = permittedUrl(location, from)
    if (from.protocol === 'https:' && target.protocol !== 'https:') {
      throw new SafeFetchError('blocked', 'it redirects from https to http')
    }
    return target
  }

  /** Checks everything that depends on the URL alone. */
  function permittedUrl(text: string, base?: URL): URL {
    const url = URL.parse(text, base?.href)
    if (url === null) throw new SafeFetchError('blocked', 'it is not a valid URL')
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new SafeFetchError('blocked', 'only http and https URLs are allowed')
    }
    if (url.username !== '' || url.password !== '') {
      throw new SafeFetchError('blocked', 'a user name or password in the URL is not allowed')
    }
    url.hash = ''
    if (exemptOrigins.has(url.origin)) return url
    if (!ports.includes(portOf(url)))
      throw new SafeFetchError('blocked', `port ${portOf(url)} is not allowed; use ${ports.join(' or ')}`)
    const hostname = hostnameOf(url)
    // Names of one label, and names ending in a dot, exist only in local networks.
    if (isIP(hostname) === 0 && (!hostname.includes('.') || hostname.endsWith('.'))) {
      throw new SafeFetchError('blocked', noPublicAddress)
    }
    return url
  }

  /** Resolves the host, once. One private address among several blocks them all. */
  async function permittedAddresses(url: URL, signal: AbortSignal): Promise<ResolvedAddress[]> {
    const hostname = hostnameOf(url)
    const family = isIP(hostname)
    const isExempt = exemptOrigins.has(url.origin)
    const resolve = options.resolve ?? (isExempt ? lookUpHost : queryDns)
    const addresses =
      family === 0 ? await resolveInTime(resolve, hostname, signal) : [{ address: hostname, family }]
    if (addresses.length === 0) throw new SafeFetchError('unreachable', noPublicAddress)
    const isAllowed = ({ address }: ResolvedAddress) =>
      isExempt ? !isRefusedAddress(address) : isPublicAddress(address)
    if (!addresses.every(isAllowed)) throw notPublic()
    return addresses
  }

  async function resolveInTime(
    resolve: ResolveName,
    hostname: string,
    signal: AbortSignal,
  ): Promise<ResolvedAddress[]> {
    signal.throwIfAborted()
    const late = new AbortController()
    const stop = () => late.abort(signal.reason)
    signal.addEventListener('abort', stop)
    const timer = abortAfter(late, connectTimeoutMs, 'the name lookup')
    try {
      const addresses = await resolve(hostname, late.signal)
      signal.throwIfAborted()
      return addresses
    } catch (error) {
      if (late.signal.aborted) throw late.signal.reason
      throw new SafeFetchError('unreachable', noPublicAddress, { cause: error })
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    }
  }

  /**
   * A client for one origin and one request whose sockets can only reach the given addresses, while
   * the Host header and the TLS name stay the URL's own.
   */
  function connectOnlyTo(url: URL, addresses: ResolvedAddress[]): Client {
    // Not called for literal addresses, which are therefore checked earlier.
    const pinnedLookup: LookupFunction = (_hostname, lookupOptions, callback) => {
      const [first] = addresses
      if (lookupOptions.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    }
    const isExempt = exemptOrigins.has(url.origin)
    return new Client(url.origin, {
      allowH2: false,
      pipelining: 1,
      connect: (_options, callback) => {
        const isSecure = url.protocol === 'https:'
        const host = hostnameOf(url)
        const route = { host, port: portOf(url), lookup: pinnedLookup, autoSelectFamily: true }
        const socket = isSecure
          ? connectTls({
              ...route,
              ...(isIP(host) === 0 && { servername: host }),
              ALPNProtocols: ['http/1.1'],
            })
          : connectTcp(route)
        const timer = setTimeout(() => {
          socket.destroy(new SafeFetchError('timeout', 'the connection took too long'))
        }, connectTimeoutMs)
        let isSettled = false
        const settle = (finish: () => void) => {
          if (isSettled) return
          isSettled = true
          clearTimeout(timer)
          finish()
        }
        socket.on('error', (error) => settle(() => callback(error, null)))
        // A second check on the address that the connection really has.
        socket.once('connect', () => {
          if (!isExempt && !isPublicAddress(socket.remoteAddress ?? '')) socket.destroy(notPublic())
        })
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          if (!socket.destroyed) settle(() => callback(null, socket))
        })
      },
    })
  }

  async function request(client: Client, url: URL, stop: AbortController): Promise<Dispatcher.ResponseData> {
    const timer = abortAfter(stop, headersTimeoutMs, 'the response')
    try {
      const answer = await client.request({
        method: 'GET',
        path: url.pathname + url.search,
        headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'kinora' },
        reset: true,
        signal: stop.signal,
        // The time limits of this file apply instead, because undici's timers are too coarse.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      // An unread body must not crash the process when its connection closes.
      answer.body.on('error', ignoreError)
      return answer
    } finally {
      clearTimeout(timer)
    }
  }

  function meteredBody(
    answer: Dispatcher.ResponseData,
    sizeBytesMax: number,
    stop: AbortController,
  ): Readable {
    const stream = Readable.from(metered(answer.body, sizeBytesMax, stop), { objectMode: false })
    // A time limit may be exceeded before the caller attaches a listener; the error stays on the stream.
    stream.on('error', ignoreError)
    const stopReading = () => stream.destroy(asError(stop.signal.reason))
    stop.signal.addEventListener('abort', stopReading)
    stream.once('close', () => {
      stop.signal.removeEventListener('abort', stopReading)
      answer.body.destroy()
    })
    return stream
  }

  /** Limits size and slowness. Only the time spent waiting for the sender counts, not the time of a slow reader. */
  async function* metered(
    body: Readable,
    sizeBytesMax: number,
    stop: AbortController,
  ): AsyncGenerator<Buffer> {
    let receivedBytes = 0
    const tooSlow = () => stop.abort(new SafeFetchError('timeout', 'the body took too long'))
    const rate = watchRate(minimumRate, tooSlow)
    try {
      for await (const chunk of atWatchedRate(body, rate)) {
        receivedBytes += chunk.length
        if (receivedBytes > sizeBytesMax) throw tooLarge(sizeBytesMax)
        yield chunk
      }
    } catch (error) {
      throw explained(error, stop.signal)
    } finally {
      rate.stop()
    }
  }

  return { open }
}

/** Accepts only complete, unencoded bodies: a compressed one could grow without bound. */
function assertUsable(answer: Dispatcher.ResponseData, sizeBytesMax: number): void {
  if (answer.statusCode !== 200) {
    const status = answer.statusCode
    throw new SafeFetchError('bad_status', `the server responded with status ${status}`, { status })
  }
  const encoding = headerOf(answer, 'content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== '') {
    throw new SafeFetchError(
      'bad_status',
      'the server responded with a content encoding that was not requested',
    )
  }
  if (Number(headerOf(answer, 'content-length') ?? 0) > sizeBytesMax) throw tooLarge(sizeBytesMax)
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function hostnameOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** Strict, because a mistyped exemption could silently exempt something else. */
function originOf(text: string): string {
  const url = URL.parse(text)
  const isOrigin =
    (url?.protocol === 'http:' || url?.protocol === 'https:') &&
    url.href === `${url.origin}/` &&
    !text.includes('@')
  if (url === null || !isOrigin) throw new TypeError(`not an http or https origin: ${text}`)
  return url.origin
}

function abortAfter(stop: AbortController, delayMs: number, subject: string): NodeJS.Timeout {
  return setTimeout(() => stop.abort(new SafeFetchError('timeout', `${subject} took too long`)), delayMs)
}

function notPublic(): SafeFetchError {
  return new SafeFetchError('blocked', noPublicAddress)
}

function tooLarge(sizeBytesMax: number): SafeFetchError {
  return new SafeFetchError('too_large', `the body is larger than ${sizeBytesMax} bytes`)
}

/** Converts an error to a `SafeFetchError`. After an abort its reason replaces any later error. */
function explained(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SafeFetchError) return error
  if (signal.aborted) return signal.reason
  return new SafeFetchError('unreachable', 'the server could not be reached', { cause: error })
}

function discard(client: Client): void {
  client.destroy().catch(ignoreError)
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}

function ignoreError(): void {}

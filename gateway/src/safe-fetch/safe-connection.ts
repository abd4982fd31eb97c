/**
 * Connections to URLs that a user or a vendor chose: checks the URL, resolves its host once, and connects only to the
 * addresses that were checked. No other code may connect to such a URL.
 */
import { connect as connectTcp, isIP, type LookupFunction } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { Client } from 'undici'

import { isPublicAddress } from './public-address.ts'
import { createDnsQuery, lookUpHost, type ResolvedAddress, type ResolveName } from './resolve-name.ts'
import { SafeFetchError } from './safe-fetch-error.ts'

export interface SafeConnectionOptions {
  /** Exact origins exempt from the port and address rules: the operator's own storage or test servers. */
  allowOrigins: string[]
  /** Whether loopback addresses are exempt on every port, for development. */
  exemptsLoopback?: boolean
  /** Addresses that even these origins may not have. */
  isRefusedAddress?: (address: string) => boolean
  /** Resolves every name, for tests. */
  resolve?: ResolveName
  /** DNS servers for the names of other origins. Default: those of the system. */
  dnsServers?: string[]
  /** Ports allowed for every origin. */
  ports?: number[]
  /** Whether other origins must use https. */
  requiresHttps?: boolean
  /** Budget for the name lookup, and again for the connection with its TLS handshake. */
  connectTimeoutMs?: number
}

export interface SafeConnections {
  /** Checks everything that depends on the URL alone, and returns it without its fragment. */
  permittedUrl: (text: string, base?: URL) => URL
  /** A client for one origin and one request, which connects when it is used. */
  connect: (url: URL, signal: AbortSignal) => Promise<Client>
}

const loopbackHosts = new Set(['localhost', '127.0.0.1', '::1'])
const noPublicAddress = 'its host has no public address; private addresses are not allowed'

export function createSafeConnections(options: SafeConnectionOptions): SafeConnections {
  const {
    dnsServers = [],
    exemptsLoopback = false,
    isRefusedAddress = () => false,
    ports = [80, 443],
    requiresHttps = false,
    connectTimeoutMs = 3_000,
  } = options
  const exemptOrigins = new Set(options.allowOrigins.map(originOf))
  const isExemptUrl = (url: URL) =>
    exemptOrigins.has(url.origin) || (exemptsLoopback && loopbackHosts.has(hostnameOf(url)))
  const queryDns = createDnsQuery(dnsServers)

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
    if (isExemptUrl(url)) return url
    if (requiresHttps && url.protocol !== 'https:') {
      throw new SafeFetchError('blocked', 'only https URLs are allowed')
    }
    if (!ports.includes(portOf(url)))
      throw new SafeFetchError('blocked', `port ${portOf(url)} is not allowed; use ${ports.join(' or ')}`)
    const hostname = hostnameOf(url)
    if (isIP(hostname) !== 0 && !isPublicAddress(hostname)) throw notPublic()
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
    const isExempt = isExemptUrl(url)
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
    const isExempt = isExemptUrl(url)
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

  return {
    permittedUrl,
    connect: async (url, signal) => connectOnlyTo(url, await permittedAddresses(url, signal)),
  }
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

/** Aborts when a time limit is exceeded. */
export function abortAfter(stop: AbortController, delayMs: number, subject: string): NodeJS.Timeout {
  return setTimeout(() => stop.abort(new SafeFetchError('timeout', `${subject} took too long`)), delayMs)
}

function notPublic(): SafeFetchError {
  return new SafeFetchError('blocked', noPublicAddress)
}

/**
 * Which pages may use the cookie of the console: only those of this server itself. A browser names the origin of a page,
 * and no page can change that.
 */
import { ApiError } from '@kinora/contract/errors'
import type { FastifyRequest } from 'fastify'

import { readSessionCookie } from '../../auth/session-token.ts'

const isLoopback = (hostname: string) =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(hostname) || hostname.endsWith('.localhost')

const isSafeMethod = (method: string) => method === 'GET' || method === 'HEAD'

const hostnameOf = (host: string) => /^(?<name>\[[^\]]*\]|[^:]*)/.exec(host)?.groups?.['name'] ?? ''

const refuse = () =>
  new ApiError('access_denied', {
    message: 'The session of the console is only for pages of this server. Send an API key instead.',
  })

/** `serverUrl` is where clients reach this server. */
export const createOwnPages = (serverUrl: string) => {
  const { protocol: serverProtocol, origin: serverOrigin, hostname: serverHostname } = new URL(serverUrl)
  /** Browsers accept secure cookies over HTTPS and from their own machine. */
  const isSecure = ({ host, protocol }: FastifyRequest): boolean =>
    serverProtocol === 'https:' || protocol === 'https' || isLoopback(hostnameOf(host))
  // At the host of the server only its own origin counts. Behind a proxy that ends HTTPS the request itself looks like
  // plain HTTP, and a page of plain HTTP can be from anybody in the network.
  const isOwnOrigin = (origin: string, { host, protocol }: FastifyRequest) =>
    origin === serverOrigin ||
    (origin === `${protocol}://${host}` &&
      (serverProtocol !== 'https:' || hostnameOf(host).toLowerCase() !== serverHostname))
  const assertOwnPage = (request: FastifyRequest): void => {
    const { 'sec-fetch-site': site, origin } = request.headers
    if (isSafeMethod(request.method)) {
      if (site !== undefined && site !== 'same-origin' && site !== 'none') throw refuse()
      return
    }
    // Browsers name the site on HTTPS and on their own machine only, and the origin everywhere.
    if (site !== undefined ? site !== 'same-origin' : !isOwnOrigin(origin ?? '', request)) throw refuse()
  }
  return {
    isSecure,
    sessionTokenOf: (request: FastifyRequest): string | undefined =>
      readSessionCookie(request.headers.cookie, isSecure(request)),
    /** Refuses a request that uses the session of the console and comes from another page. */
    assertOwnPage,
    /** Refuses a request of another page, whether or not it has a session. A program that is no browser names no page. */
    assertNoOtherPage: (request: FastifyRequest): void => {
      const { origin, cookie, 'sec-fetch-site': site } = request.headers
      if (origin !== undefined || cookie !== undefined || site !== undefined) assertOwnPage(request)
    },
  }
}

export type OwnPages = ReturnType<typeof createOwnPages>

/** Checks the URL that customers use: its certificate, its proxy, and that it does not serve the admin API. */
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { TLSSocket } from 'node:tls'

import { validityOf, type Validity } from '@kinora/gateway/certificate'

import { absent, codeOf, failed, messageOf, ok, timeoutMs, warning, type Check } from './check.ts'

interface Answer {
  status: number
  location: string | undefined
  body: Record<string, unknown> | undefined
  /** When the certificate is valid; undefined without TLS. */
  validity: Validity | undefined
}

const bodyBytesMax = 65_536
const dayMs = 86_400_000
/** Proxies renew when a third is left. Certificates last for 90 days or for hours, so a number of days would not do. */
const shareLeftMin = 0.2

const readBody = async (response: IncomingMessage): Promise<Record<string, unknown> | undefined> => {
  let text = ''
  for await (const chunk of response) {
    text += String(chunk)
    if (text.length > bodyBytesMax) return undefined
  }
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Follows no redirect, because a redirect is what is looked for. */
const ask = (url: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const isTls = url.startsWith('https:')
    const options = { agent: false, signal: AbortSignal.timeout(timeoutMs) }
    const answered = (response: IncomingMessage) => {
      const validity = isTls ? validityOf(response.socket as TLSSocket) : undefined
      const { statusCode: status = 0, headers } = response
      readBody(response).then(
        (body) =>
          resolve({
            ...{ status, location: headers.location, body, validity },
          }),
        reject,
      )
    }
    const sent = isTls ? requestHttps(url, options, answered) : requestHttp(url, options, answered)
    sent.on('error', reject).end()
  })

const isLoopback = (host: string) => /^(?:localhost|127\..*|\[::1\])$/.test(host)

const certificateFix = 'let the proxy renew it, and check its log; with Caddy: docker compose logs proxy'
const unknownAuthority =
  'use a certificate of a public authority, or let Node trust yours: NODE_EXTRA_CA_CERTS=<file>'

/** What the codes of failed connections mean. */
const connectionFixes: Record<string, [check: 'public URL' | 'TLS', fix: string]> = {
  ECONNREFUSED: ['public URL', 'start the proxy, or correct the port in PUBLIC_URL'],
  ENOTFOUND: ['public URL', 'create the DNS entry of the name, or correct PUBLIC_URL'],
  EAI_AGAIN: ['public URL', 'correct PUBLIC_URL, or the DNS of this machine'],
  ECONNRESET: ['public URL', 'check the log of the proxy, or correct PUBLIC_URL'],
  CERT_HAS_EXPIRED: ['TLS', certificateFix],
  CERT_NOT_YET_VALID: ['TLS', 'correct the clock of this machine'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['TLS', 'give the proxy a certificate for this name, or correct PUBLIC_URL'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['TLS', unknownAuthority],
  SELF_SIGNED_CERT_IN_CHAIN: ['TLS', unknownAuthority],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['TLS', 'let the proxy send the whole chain of certificates'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['TLS', unknownAuthority],
  EPROTO: ['TLS', 'the port does not speak TLS: let the proxy serve https, or correct PUBLIC_URL'],
  ERR_SSL_WRONG_VERSION_NUMBER: [
    'TLS',
    'the port does not speak TLS: let the proxy serve https, or correct PUBLIC_URL',
  ],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: [
    'TLS',
    'the port does not speak TLS: let the proxy serve https, or correct PUBLIC_URL',
  ],
}

const unreachable = (url: string, error: unknown): Check => {
  const isLate = (error as Error).name === 'TimeoutError' || (error as Error).name === 'AbortError'
  const [name, fix] = connectionFixes[codeOf(error)] ?? [
    'public URL',
    'start the proxy and the API, or correct PUBLIC_URL',
  ]
  const reason = isLate ? `no response within ${timeoutMs / 1000} s` : messageOf(error).split('\n', 1)[0]
  return failed(name, `${url}: ${reason}`, fix)
}

const reached = (url: string, { status, location, body }: Answer): Check => {
  const name = 'public URL'
  if (status >= 300 && status < 400 && location !== undefined) {
    const isUpgrade = url.startsWith('http:') && location.startsWith('https:')
    return isUpgrade
      ? failed(
          name,
          `${url} redirects to https, so links to results and webhooks would begin with the wrong URL`,
          `set PUBLIC_URL=${url.replace('http:', 'https:')}`,
        )
      : failed(name, `${url} redirects to ${location}`, 'set PUBLIC_URL to the URL behind the redirect')
  }
  if (status === 502 || status === 504)
    return failed(
      name,
      `the proxy answers, but not the API (${status})`,
      'start the API, or correct its port in the proxy',
    )
  if (status === 503 && typeof body?.['error'] === 'object')
    return failed(name, messageOf(body['error']), 'kinora migrate, or see the log of the API')
  if (body?.['status'] !== 'ok' || typeof body['version'] !== 'string')
    return failed(name, `${url} is served by another program (${status})`, 'correct PUBLIC_URL, or the proxy')
  return ok(name, `${url} (version ${body['version']})`)
}

const tls = (url: string, { validity }: Answer): Check => {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:') {
    return isLoopback(hostname)
      ? absent('TLS', 'PUBLIC_URL is for this machine only')
      : failed(
          'TLS',
          'customers send their keys unencrypted',
          `serve ${url.replace('http:', 'https:')} with a proxy, and set PUBLIC_URL to it`,
        )
  }
  if (validity === undefined) return absent('TLS', 'the certificate was not shown')
  const { from, to } = validity
  const leftMs = to.getTime() - Date.now()
  const days = Math.floor(leftMs / dayMs)
  const detail = `the certificate expires on ${to.toISOString().slice(0, 10)}, in ${days} days`
  return leftMs < shareLeftMin * (to.getTime() - from.getTime())
    ? warning('TLS', detail, certificateFix)
    : ok('TLS', detail)
}

const proxies = (url: string, { body }: Answer): Check => {
  const name = 'proxies'
  const forwarded = body?.['forwarded_for']
  if (forwarded === 'trusted') return ok(name, 'the API sees the addresses of the clients')
  if (forwarded === 'ignored') {
    return failed(
      name,
      'X-Forwarded-For of your proxy is ignored, so all customers share one rate limit',
      'set TRUSTED_PROXIES to the address of the proxy; the API logs it as proxy.untrusted',
    )
  }
  return url.startsWith('https:')
    ? failed(
        name,
        'the proxy does not send X-Forwarded-For, so all customers share one rate limit',
        'let it add the header, as Caddy and nginx (proxy_set_header X-Forwarded-For) do',
      )
    : absent(name, 'clients connect without a proxy')
}

const adminApi = async (url: string): Promise<Check> => {
  const { status } = await ask(`${url}/admin/v1/accounts`)
  return status === 404
    ? ok('admin API', 'not reachable through the public URL')
    : failed(
        'admin API',
        `${url}/admin/v1 is reachable for everybody who knows an operator key`,
        'set ADMIN_PORT=8788, and reach that port through SSH or a VPN',
      )
}

export const checkPublicUrl = async (url: string | undefined): Promise<Check[]> => {
  if (url === undefined || url === '')
    return [failed('public URL', 'PUBLIC_URL is not set', 'set it to the URL that customers use')]
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    return [
      failed(
        'public URL',
        `"${url}" is no URL`,
        'set PUBLIC_URL to the URL that customers use, such as https://media.example.com',
      ),
    ]
  try {
    const answer = await ask(`${url}/readyz`)
    const first = reached(url, answer)
    if (first.state !== 'ok') return [first]
    return [first, tls(url, answer), proxies(url, answer), await adminApi(url)]
  } catch (error) {
    return [unreachable(url, error)]
  }
}

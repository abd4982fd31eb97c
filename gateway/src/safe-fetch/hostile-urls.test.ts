import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

import { SafeFetchError } from './safe-fetch-error.ts'
import { createSafeFetch } from './safe-fetch.ts'
import { createSafePost } from './safe-post.ts'

/** Every known way to write the local machine; a careless client connects to most of them. */
const loopbackHosts = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '127.000.000.001',
  '127.127.127.127',
  '127.255.255.254',
  '2130706433',
  '0x7f000001',
  '0X7F000001',
  '0x7f.1',
  '0x7f.0x0.0x0.0x1',
  '0x7f.0.1',
  '017700000001',
  '0177.0.0.1',
  '0177.1',
  '0177.0x0.0.01',
  '00000177.0.0.1',
  '１２７.０.０.１',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '127．0．0．1',
  '127｡0｡0｡1',
  '127%2e0%2e0%2e1',
  '%31%32%37.0.0.1',
  '%6c%6f%63%61%6c%68%6f%73%74',
  '0',
  '0x0',
  '00',
  '0.0',
  '0.0.0.0',
  'localhost',
  'LOCALHOST',
  'LoCaLhOsT',
  'localhost.',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'lo\u00adcalhost',
  'ｌｏｃａｌｈｏｓｔ',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[0::1]',
  '[::0:1]',
  '[::0.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:7F00:1]',
  '[::ffff:7f00:0001]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[::ffff:0.0.0.0]',
]

const privateIPv4 = [
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '203.0.113.7',
  '224.0.0.1',
  '255.255.255.255',
]

const privateIPv6 = [
  '[100::1]',
  '[2001::1]',
  '[2001:2::1]',
  '[2001:10::1]',
  '[2001:20::1]',
  '[2001:db8::1]',
  '[2620:4f:8000::1]',
  '[3fff::1]',
  '[4000::1]',
  '[5f00::1]',
  '[8000::1]',
  '[fc00::1]',
  '[fd00::2]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fe80::1%25lo]',
  '[fe80::1%lo]',
  '[::1%25lo]',
  '[fec0::1]',
  '[ff02::1]',
  '[64:ff9b:1::7f00:1]',
  '[v1.127.0.0.1]',
]

/** Names of the injected resolver; each has a private address. */
const hostileNames: Record<string, string[]> = {
  'loopback.example.com': ['127.0.0.1'],
  'loopback6.example.com': ['::1'],
  'any.example.com': ['0.0.0.0'],
  'any6.example.com': ['::'],
  'metadata.google.internal': ['169.254.169.254'],
  'mixed.example.com': ['93.184.216.34', '127.0.0.1'],
  'mixed-first.example.com': ['127.0.0.1', '93.184.216.34'],
  'mixed-families.example.com': ['2606:4700::1', '::1', '93.184.216.34'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'compatible.example.com': ['::127.0.0.1'],
  'sixtofour.example.com': ['2002:7f00:1::1'],
  'nat64.example.com': ['64:ff9b::7f00:1'],
  'zoned.example.com': ['fe80::1%lo'],
  'zoned-public.example.com': ['2606:4700::1%lo'],
  'site-local.example.com': ['fec0::1'],
  'nonsense.example.com': ['not an address'],
  'short.example.com': ['127.1'],
  'empty-address.example.com': [''],
  '127.0.0.1.nip.example.com': ['127.0.0.1'],
  'xn--80ak6aa92e.example.com': ['10.1.2.3'],
  'app.localhost': ['127.0.0.1'],
  'printer.local': ['192.168.1.9'],
  'under_score.example.com': ['172.20.0.1'],
  'no-address.example.com': [],
}

/** Whole URLs that confuse parsers. PORT is the canary's. */
const trickyUrls = [
  'http:127.0.0.1:PORT',
  'http:/127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  'http:/\\127.0.0.1:PORT/',
  ' http://127.0.0.1:PORT/',
  '\u0000http://127.0.0.1:PORT/',
  'ht\ntp://127.0.0.1:PORT/',
  'http://127.0.0\t.1:PORT/',
  'http://127.0.0.1:PORT\r\n/',
  'HTTP://127.0.0.1:PORT/',
  'http://127.0.0.1:PORT#@example.com/',
  'http://127.0.0.1:PORT?@example.com/',
  'http://127.0.0.1:PORT/@example.com',
  'http://127.0.0.1:PORT\\@example.com/',
  'http://@127.0.0.1:PORT/',
  'http://:@127.0.0.1:PORT/',
  'http://user@127.0.0.1:PORT/',
  'http://user:secret@127.0.0.1:PORT/',
  'http://:secret@127.0.0.1:PORT/',
  'http://example.com@127.0.0.1:PORT/',
  'http://example.com:80@127.0.0.1:PORT/',
  'http://example.com%40127.0.0.1:PORT/',
  'http://127.0.0.1:PORT@example.com/',
  'http://user@mixed.example.com/',
  'http://127.0.0.1 :PORT/',
  'http://127.0.0.1%00:PORT/',
  'http://127.0.0.1%0d%0a:PORT/',
  'http://127.0.0.1%2523:PORT/',
  'http://localhost%2f:PORT/',
  'http://local%68ost:PORT/',
  'http://127.0.0.1:0PORT/',
  'http://127.0.0.1:00000PORT/',
  'http://[::1]:PORT@example.com/',
  'http://[::1/',
  'http://::1:PORT/',
  'http://[[::1]]:PORT/',
  'http://[::ffff:127.0.0.1:PORT/',
  'http://256.256.256.256:PORT/',
  'http://4294967296:PORT/',
  'http://127.0.0.1.2:PORT/',
  'http://0x100000000:PORT/',
  'http://09.1:PORT/',
  'http://intranet:PORT/',
  'http://kubernetes.default.svc.:PORT/',
  'http://example.com.:PORT/',
  'http://.:PORT/',
  'http://..:PORT/',
  'http://:PORT/',
  'https://127.0.0.1:PORT/',
  'https://localhost:PORT/',
  'https://[::1]:PORT/',
  'https:127.0.0.1:PORT',
]

const otherSchemes = [
  '',
  ' ',
  '/',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  'localhost:PORT/',
  'about:blank',
  'blob:http://127.0.0.1:PORT/0f0e',
  'data:text/plain,hello',
  'dict://127.0.0.1:PORT/stat',
  'file:///etc/passwd',
  'file://127.0.0.1/etc/passwd',
  'ftp://127.0.0.1:PORT/',
  'ftps://127.0.0.1:PORT/',
  'gopher://127.0.0.1:PORT/_GET',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  'httpx://127.0.0.1:PORT/',
  'imap://127.0.0.1:PORT/',
  'jar:http://127.0.0.1:PORT/!/',
  'javascript:fetch("http://127.0.0.1:PORT")',
  'ldap://127.0.0.1:PORT/',
  'mailto:root@localhost',
  'netdoc:///etc/passwd',
  'node:fs',
  'redis://127.0.0.1:PORT/',
  's3://bucket/key',
  'sftp://127.0.0.1:PORT/',
  'smb://127.0.0.1/share',
  'ssh://127.0.0.1:PORT/',
  'telnet://127.0.0.1:PORT/',
  'tftp://127.0.0.1:PORT/',
  'unix:/var/run/docker.sock',
  'urn:isbn:1',
  'view-source:http://127.0.0.1:PORT/',
  'ws://127.0.0.1:PORT/',
  'wss://127.0.0.1:PORT/',
]

const closedPorts = [
  0, 1, 21, 22, 23, 25, 79, 81, 110, 444, 2375, 3306, 5432, 6379, 8080, 8443, 9200, 11211, 65535,
]

const hostileUrls = [
  ...[...loopbackHosts, ...privateIPv4.flatMap(spellings), ...privateIPv6].map(
    (host) => `http://${host}:PORT/`,
  ),
  ...Object.keys(hostileNames).flatMap((name) => [`http://${name}:PORT/`, `https://${name}/`]),
  ...trickyUrls,
  ...otherSchemes,
  ...closedPorts.flatMap((port) => [`http://93.184.216.34:${port}/`, `https://public.example.com:${port}/`]),
]

let canary: Server
let canaryPort: number
let canaryConnections = 0
let canaryRequests = 0

/** An exempt origin that redirects to the URL in its query. */
let redirector: Server
let redirectorOrigin: string

beforeAll(async () => {
  canary = createServer((_request, response) => {
    canaryRequests += 1
    response.end('secret')
  })
  canary.on('connection', () => (canaryConnections += 1))
  canaryPort = await listen(canary, '::')
  redirector = createServer((request, response) => {
    const location = new URL(request.url ?? '/', 'http://redirector').searchParams.get('to') ?? ''
    response.writeHead(302, { location: Buffer.from(location).toString('latin1') }).end()
  })
  redirectorOrigin = `http://127.0.0.1:${await listen(redirector, '127.0.0.1')}`
})

beforeEach(() => {
  canaryConnections = 0
  canaryRequests = 0
})

afterAll(() => {
  for (const server of [canary, redirector]) server.close().closeAllConnections()
})

describe('hostile URLs', () => {
  it('are a table of at least 250', () => {
    expect(new Set(hostileUrls).size).toBe(hostileUrls.length)
    expect(hostileUrls.length).toBeGreaterThanOrEqual(250)
  })

  it('would reach the canary through a careless client', async () => {
    for (const host of loopbackHosts) await careless(`http://${host}:${canaryPort}/`)
    expect(canaryRequests).toBeGreaterThanOrEqual(40)
  })

  it('reach nothing through ours', async () => {
    for (const url of hostileUrls) {
      expect(await reasonFor(withPort(url)), url).toMatch(/^(blocked|unreachable)$/)
    }
    expect(canaryConnections).toBe(0)
  })

  it('reach nothing as the URL of a webhook, with and without TLS', async () => {
    const { post } = createSafePost({
      allowOrigins: [],
      ports: [80, 443, canaryPort],
      resolve: resolveHostile,
    })
    const strict = createSafePost({ allowOrigins: [], requiresHttps: true, resolve: resolveHostile })
    for (const url of hostileUrls) {
      for (const send of [post, strict.post]) {
        const sending = send(withPort(url), { headers: {}, body: 'secret', responseBytesMax: 100 })
        await expect(sending, url).rejects.toMatchObject({
          reason: expect.stringMatching(/^(blocked|unreachable)$/),
        })
      }
    }
    expect(canaryConnections).toBe(0)
  })

  it('are blocked as such, except where a name has no address at all', async () => {
    for (const url of hostileUrls) {
      if (!url.includes('no-address')) expect(await reasonFor(withPort(url)), url).toBe('blocked')
    }
  })

  it('reach nothing as the target of a redirect from an exempt origin', async () => {
    // Relative redirects lead back to the exempt origin, and no header can
    // have a control character.
    const candidates = hostileUrls.filter(
      (url) =>
        URL.parse(withPort(url), redirectorOrigin)?.origin !== redirectorOrigin && !/\p{Control}/u.test(url),
    )
    expect(candidates.length).toBeGreaterThanOrEqual(250)
    for (const url of candidates) {
      const through = `${redirectorOrigin}/?to=${encodeURIComponent(withPort(url))}`
      expect(await reasonFor(through), url).toMatch(/^(blocked|unreachable)$/)
    }
    expect(canaryConnections).toBe(0)
  })

  it('reach nothing on the ports that are open by default either', async () => {
    for (const host of [...loopbackHosts, ...privateIPv4.flatMap(spellings), ...privateIPv6]) {
      expect(await reasonFor(`http://${host}/`, undefined), host).toBe('blocked')
      expect(await reasonFor(`https://${host}/`, undefined), host).toBe('blocked')
    }
  })
})

describe('a name that changes its address between check and use', () => {
  // Unallocated, so that the test sends nothing to another party.
  const unroutable = '2d00::1'

  it.each([
    ['public first', [unroutable, '127.0.0.1']],
    ['private first', ['127.0.0.1', unroutable]],
  ])('is resolved once and stays there: %s', async (_order, answers) => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      let calls = 0
      const fetcher = createSafeFetch({
        allowOrigins: [],
        ports: [canaryPort],
        connectTimeoutMs: 100,
        resolve: async () => {
          const address = answers[calls % answers.length] ?? ''
          calls += 1
          return [{ address, family: address.includes(':') ? 6 : 4 }]
        },
      })
      await expect(
        fetcher.open(`http://rebind.example.com:${canaryPort}/`, { sizeBytesMax: 100 }),
      ).rejects.toBeInstanceOf(SafeFetchError)
      expect(calls).toBe(1)
    }
    expect(canaryConnections).toBe(0)
  })

  it('is found out after connecting, if it gets that far, and is sent nothing', async () => {
    let reads = 0
    const shifty = {
      family: 4,
      get address() {
        reads += 1
        return reads === 1 ? '93.184.216.34' : '127.0.0.1'
      },
    }
    const fetcher = createSafeFetch({
      allowOrigins: [],
      ports: [canaryPort],
      resolve: async () => [shifty],
    })
    await expect(
      fetcher.open(`http://rebind.example.com:${canaryPort}/`, { sizeBytesMax: 100 }),
    ).rejects.toMatchObject({ reason: 'blocked' })
    expect(canaryRequests).toBe(0)
  })

  it('is checked again at every redirect', async () => {
    let calls = 0
    const name = `http://rebind.example.com:${new URL(redirectorOrigin).port}`
    const fetcher = createSafeFetch({
      // Exempt for the first hop only: the second has another port, so it is judged by its address.
      allowOrigins: [name],
      ports: [canaryPort],
      resolve: async () => {
        calls += 1
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const to = encodeURIComponent(`http://rebind.example.com:${canaryPort}/`)
    await expect(fetcher.open(`${name}/?to=${to}`, { sizeBytesMax: 100 })).rejects.toMatchObject({
      reason: 'blocked',
    })
    expect(calls).toBe(2)
    expect(canaryConnections).toBe(0)
  })
})

/** One IPv4 address in every notation that some parser accepts. */
function spellings(address: string): string[] {
  const octets = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = octets
  const value = ((a * 256 + b) * 256 + c) * 256 + d
  const high = (a * 256 + b).toString(16)
  const low = (c * 256 + d).toString(16)
  const all = [
    address,
    String(value),
    `0x${value.toString(16)}`,
    `0${value.toString(8)}`,
    octets.map((octet) => `0x${octet.toString(16)}`).join('.'),
    octets.map((octet) => `0${octet.toString(8)}`).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[::${high}:${low}]`,
    `[::ffff:0:${high}:${low}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b::${address}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::1]`,
  ]
  return all.filter((host) => !loopbackHosts.includes(host))
}

function withPort(url: string): string {
  return url.replaceAll('PORT', String(canaryPort))
}

async function resolveHostile(hostname: string) {
  return (hostileNames[hostname] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

/** The canary's port is allowed here, so that only the address rules protect it. */
async function reasonFor(url: string, ports: number[] | undefined = [80, 443, canaryPort]): Promise<string> {
  const fetcher = createSafeFetch({
    allowOrigins: [redirectorOrigin],
    ports,
    resolve: resolveHostile,
  })
  try {
    const { stream } = await fetcher.open(url, { sizeBytesMax: 1_000 })
    stream.destroy()
    return 'fetched'
  } catch (error) {
    if (error instanceof SafeFetchError) return error.reason
    throw error
  }
}

/** For comparison: the platform's own client without any rules. */
async function careless(url: string): Promise<void> {
  try {
    await (await fetch(url)).text()
  } catch {
    // Some spellings are not valid URLs.
  }
}

async function listen(server: Server, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(0, host, resolve)
  await promise
  return (server.address() as AddressInfo).port
}

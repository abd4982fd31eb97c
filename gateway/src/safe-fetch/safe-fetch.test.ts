import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import { SafeFetchError } from './safe-fetch-error.ts'
import { createSafeFetch } from './safe-fetch.ts'

const image = Buffer.alloc(300_000, 'kinora')
const roomy = { sizeBytesMax: 1_000_000 }

let server: Server
let origin: string
let answer: RequestListener = (_request, response) => response.end()

beforeAll(async () => {
  server = createHttpServer((request, response) => answer(request, response))
  origin = `http://127.0.0.1:${await listen(server)}`
})

afterEach(async () => {
  vi.useRealTimers()
  // No connection may outlive its test.
  await expect.poll(() => connectionCount(server)).toBe(0)
})

afterAll(() => {
  server.close().closeAllConnections()
})

describe('a transfer from an exempt origin', () => {
  it('streams the body and says what and where it is', async () => {
    answer = (_request, response) => response.setHeader('content-type', 'image/png').end(image)
    const { stream, contentType, url } = await fetcher().open(`${origin}/a.png?size=1#top`, roomy)
    expect(await buffer(stream)).toEqual(image)
    expect(contentType).toBe('image/png')
    expect(url).toBe(`${origin}/a.png?size=1`)
  })

  it('sends no credentials, no cookies, and asks for an unencoded body', async () => {
    let seen: unknown
    answer = (request, response) => {
      seen = request.headers
      response.setHeader('set-cookie', 'session=1').end()
    }
    const safeFetch = fetcher()
    for (let round = 0; round < 2; round += 1) await text((await safeFetch.open(`${origin}/`, roomy)).stream)
    expect(seen).toEqual({
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
      host: new URL(origin).host,
      'user-agent': 'kinora',
    })
  })

  it('opens so many bodies of one origin at once; the next one starts when one of them is over', async () => {
    let requests = 0
    answer = (_request, response) => {
      requests += 1
      response.end(image)
    }
    const safeFetch = createSafeFetch({ allowOrigins: [origin], bodiesPerOriginMax: 2 })
    const [one, two] = await Promise.all([1, 2].map(() => safeFetch.open(`${origin}/`, roomy)))
    const third = safeFetch.open(`${origin}/`, roomy)
    const impatient = new AbortController()
    const fourth = safeFetch.open(`${origin}/`, { ...roomy, signal: impatient.signal })
    impatient.abort(new Error('the caller went away'))
    await expect(fourth).rejects.toThrow('the caller went away')
    expect(requests).toBe(2)
    one?.stream.destroy()
    expect(await buffer((await third).stream)).toEqual(image)
    two?.stream.destroy()
    expect(requests).toBe(3)
  })

  it('follows three redirects, relative ones too, and no fourth', async () => {
    answer = (request, response) => {
      const step = Number(request.url?.slice(1))
      if (step === 0) response.end('arrived')
      else
        response
          .writeHead(307, { location: step % 2 === 0 ? `${origin}/${step - 1}` : `./${step - 1}` })
          .end('x')
    }
    const { stream, url } = await fetcher().open(`${origin}/3`, roomy)
    expect(await text(stream)).toBe('arrived')
    expect(url).toBe(`${origin}/0`)
    await expectReason(fetcher().open(`${origin}/4`, roomy), 'bad_status')
  })

  it('keeps to the resolved address while the host header stays the name', async () => {
    let host: string | undefined
    answer = (request, response) => {
      host = request.headers.host
      response.end('by name')
    }
    const named = origin.replace('127.0.0.1', 'media.example.com')
    const safeFetch = fetcher({
      allowOrigins: [named],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    })
    expect(await text((await safeFetch.open(named, roomy)).stream)).toBe('by name')
    expect(host).toBe(new URL(named).host)
  })

  it('tries the next of several addresses when one does not answer', async () => {
    answer = (_request, response) => response.end('second')
    const named = origin.replace('127.0.0.1', 'media.example.com')
    const addresses = [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]
    const safeFetch = fetcher({ allowOrigins: [named], resolve: async () => addresses })
    expect(await text((await safeFetch.open(named, roomy)).stream)).toBe('second')
  })

  it('exempts that origin only', async () => {
    await expectReason(fetcher({ allowOrigins: [] }).open(origin, roomy), 'blocked')
    await expectReason(fetcher({ allowOrigins: ['http://127.0.0.1'] }).open(origin, roomy), 'blocked')
    await expectReason(fetcher().open(origin.replace('http:', 'https:'), roomy), 'blocked')
    await expectReason(fetcher().open(origin.replace('//', '//user:secret@'), roomy), 'blocked')
  })

  it('can be refused by its address', async () => {
    const isRefusedAddress = (address: string) => address === '127.0.0.1'
    await expectReason(fetcher({ isRefusedAddress }).open(origin, roomy), 'blocked')
  })

  it('takes nothing but origins as exemptions', () => {
    for (const entry of ['', 'example.com', 'ftp://a', 'http://a/path', 'http://u@a', 'http://a?x', '*']) {
      expect(() => createSafeFetch({ allowOrigins: [entry] }), entry).toThrow(TypeError)
    }
  })
})

describe('an unusable response', () => {
  it.each([201, 204, 206, 304, 401, 404, 500, 503])('status %i is refused', async (status) => {
    answer = (_request, response) => response.writeHead(status).end()
    await expectReason(fetcher().open(origin, roomy), 'bad_status')
  })

  it('a redirect to nowhere is refused', async () => {
    answer = (_request, response) => response.writeHead(302).end()
    await expectReason(fetcher().open(origin, roomy), 'bad_status')
  })

  it.each(['gzip', 'br', 'GZIP', 'identity, gzip', 'x-unknown'])(
    'encoding %s is refused',
    async (encoding) => {
      answer = (_request, response) =>
        response.setHeader('content-encoding', encoding).end(gzipSync(Buffer.alloc(1_000_000)))
      await expectReason(fetcher().open(origin, roomy), 'bad_status')
    },
  )

  it('the identity encoding is none', async () => {
    answer = (_request, response) => response.setHeader('content-encoding', 'Identity').end('plain')
    expect(await text((await fetcher().open(origin, roomy)).stream)).toBe('plain')
  })
})

describe('the size limit', () => {
  it('refuses a body that announces to be larger', async () => {
    answer = (_request, response) => response.setHeader('content-length', image.length).end(image)
    await expectReason(fetcher().open(origin, { sizeBytesMax: image.length - 1 }), 'too_large')
  })

  it('cuts a body that turns out to be larger', async () => {
    answer = (_request, response) => {
      response.write(image)
      response.end(image)
    }
    const { stream } = await fetcher().open(origin, { sizeBytesMax: image.length })
    await expectReason(buffer(stream), 'too_large')
  })

  it('lets a body of exactly that size through', async () => {
    answer = (_request, response) => {
      response.write(image)
      response.end()
    }
    const { stream } = await fetcher().open(origin, { sizeBytesMax: image.length })
    expect(await buffer(stream)).toEqual(image)
  })
})

describe('the time budgets', () => {
  it('cut an answer that never comes', async () => {
    answer = () => {}
    await expectReason(fetcher({ headersTimeoutMs: 50 }).open(origin, roomy), 'timeout')
  })

  it('cut a name lookup that never ends', async () => {
    const safeFetch = createSafeFetch({
      allowOrigins: [],
      connectTimeoutMs: 50,
      resolve: (_hostname, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
    })
    await expectReason(safeFetch.open('http://slow.example.com/', roomy), 'timeout')
  })

  it('cut a TLS handshake that never ends', async () => {
    const silent = createTcpServer((socket) => socket.resume())
    const secure = `https://127.0.0.1:${await listen(silent)}`
    const safeFetch = fetcher({ allowOrigins: [secure], connectTimeoutMs: 50 })
    await expectReason(safeFetch.open(secure, roomy), 'timeout')
    await expect.poll(() => connectionCount(silent)).toBe(0)
    silent.close()
  })

  it('cut a body that falls silent', async () => {
    answer = (_request, response) => response.write('beginning')
    const { stream } = await fetcher({ minimumRate: { bytesPerSecondMin: 1, windowMs: 50 } }).open(
      origin,
      roomy,
    )
    await expectReason(buffer(stream), 'timeout')
  })

  it('cut a body that trickles', async () => {
    answer = (_request, response) => void repeat(response, 'drip', 20)
    const { stream } = await fetcher({ minimumRate: { bytesPerSecondMin: 10_000, windowMs: 150 } }).open(
      origin,
      roomy,
    )
    await expectReason(buffer(stream), 'timeout')
  })

  it('cut a body that trickles after a fast start', async () => {
    answer = (_request, response) => {
      response.write(image)
      void repeat(response, 'drip', 20)
    }
    const { stream } = await fetcher({ minimumRate: { bytesPerSecondMin: 10_000, windowMs: 150 } }).open(
      origin,
      roomy,
    )
    await expectReason(buffer(stream), 'timeout')
  })

  it('cut a transfer that is steady but endless', async () => {
    answer = (_request, response) => void repeat(response, 'x'.repeat(1_000), 10)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { stream } = await fetcher({ totalTimeoutMs: 60_000 }).open(origin, roomy)
    await once(stream, 'readable')
    const reading = expectReason(buffer(stream), 'timeout')
    vi.advanceTimersByTime(60_000)
    await reading
  })

  it('end a stream that nobody reads, without an uncaught error', async () => {
    answer = (_request, response) => response.write('unread')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { stream } = await fetcher({ totalTimeoutMs: 60_000 }).open(origin, roomy)
    vi.advanceTimersByTime(60_000)
    await expect.poll(() => stream.destroyed).toBe(true)
    await expectReason(buffer(stream), 'timeout')
  })

  it('do not blame the sender for a slow reader', async () => {
    answer = (_request, response) => response.end(image)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const { stream } = await fetcher({ totalTimeoutMs: 86_400_000 }).open(origin, roomy)
    await once(stream, 'readable')
    // The sender is paused once the buffer is full.
    while (stream.readableLength < stream.readableHighWaterMark)
      await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(3_600_000)
    expect(await buffer(stream)).toEqual(image)
  })
})

describe('a broken transfer', () => {
  it('is unreachable when nobody listens', async () => {
    const closed = createHttpServer()
    const gone = `http://127.0.0.1:${await listen(closed)}`
    closed.close()
    await expectReason(fetcher({ allowOrigins: [gone] }).open(gone, roomy), 'unreachable')
  })

  it('is unreachable when the name does not exist', async () => {
    const safeFetch = createSafeFetch({
      allowOrigins: [],
      resolve: () => Promise.reject(new Error('ENOTFOUND')),
    })
    await expectReason(safeFetch.open('https://nowhere.example.com/', roomy), 'unreachable')
  })

  it('errors in the stream when the connection is cut half-way', async () => {
    answer = (_request, response) => {
      response.setHeader('content-length', 1_000).write('half', () => response.destroy())
    }
    const { stream } = await fetcher().open(origin, roomy)
    await expectReason(buffer(stream), 'unreachable')
  })

  it('ends with the reason of the signal that the caller aborts', async () => {
    answer = (_request, response) => response.write('beginning')
    const before = AbortSignal.abort(new Error('never mind'))
    await expect(fetcher().open(origin, { ...roomy, signal: before })).rejects.toThrow('never mind')

    const during = new AbortController()
    const { stream } = await fetcher().open(origin, { ...roomy, signal: during.signal })
    during.abort(new Error('enough'))
    await expect(buffer(stream)).rejects.toThrow('enough')

    const waiting = new AbortController()
    answer = () => waiting.abort(new Error('too late'))
    await expect(fetcher().open(origin, { ...roomy, signal: waiting.signal })).rejects.toThrow('too late')
  })

  it('leaves nothing behind when the reader walks away', async () => {
    answer = (_request, response) => response.write(image)
    const { stream } = await fetcher().open(origin, roomy)
    stream.destroy()
  })
})

describe('over TLS', () => {
  const name = 'media.example.com'
  const trustedBefore = getCACertificates('default')
  let secureServer: Server
  let secureOrigin: string

  beforeAll(async () => {
    const { key, certificate } = selfSigned(name)
    setDefaultCACertificates([...trustedBefore, certificate])
    secureServer = createHttpsServer({ key, cert: certificate }, (request, response) =>
      answer(request, response),
    )
    secureOrigin = `https://${name}:${await listen(secureServer)}`
  })

  afterAll(() => {
    setDefaultCACertificates(trustedBefore)
    secureServer.close().closeAllConnections()
  })

  function secureFetcher(exempt: string) {
    return fetcher({
      allowOrigins: [origin, exempt],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    })
  }

  it('checks the certificate against the name, though it connects to the pinned address', async () => {
    answer = (_request, response) => response.end('sealed')
    expect(await text((await secureFetcher(secureOrigin).open(secureOrigin, roomy)).stream)).toBe('sealed')

    const otherName = secureOrigin.replace(name, 'other.example.com')
    await expectReason(secureFetcher(otherName).open(otherName, roomy), 'unreachable')
    const bareAddress = secureOrigin.replace(name, '127.0.0.1')
    await expectReason(secureFetcher(bareAddress).open(bareAddress, roomy), 'unreachable')
  })

  it('is not left again by a redirect, not even to an exempt origin', async () => {
    answer = (_request, response) => response.writeHead(302, { location: origin }).end()
    await expectReason(secureFetcher(secureOrigin).open(secureOrigin, roomy), 'blocked')
  })
})

function fetcher(options: Partial<Parameters<typeof createSafeFetch>[0]> = {}) {
  return createSafeFetch({ allowOrigins: [origin], ...options })
}

/** Writes chunks until the other side stops. */
async function repeat(response: ServerResponse, piece: string, everyMs: number) {
  while (!response.destroyed) {
    response.write(piece)
    await delay(everyMs)
  }
}

async function expectReason(outcome: Promise<unknown>, reason: SafeFetchError['reason']) {
  const error: unknown = await outcome.then(
    () => 'no error',
    (failure: unknown) => failure,
  )
  expect(error).toBeInstanceOf(SafeFetchError)
  expect(error).toMatchObject({ reason })
}

async function listen(listener: TcpServer): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>()
  listener.listen(0, '127.0.0.1', resolve)
  await promise
  return (listener.address() as AddressInfo).port
}

async function connectionCount(listener: TcpServer): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  listener.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  return await promise
}

/** Creates a certificate for one name, so that the repository contains no private key. */
function selfSigned(name: string): { key: string; certificate: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'))
  const subject = der(
    0x30,
    der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(name)))),
  )
  const validity = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')))
  const alternativeNames = der(0x30, der(0x82, Buffer.from(name)))
  const extension = der(0x30, Buffer.from('0603551d11', 'hex'), der(0x04, alternativeNames))
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), createHash('sha256').update(name).digest().subarray(0, 8)])),
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, extension)),
  )
  const signature = sign('sha256', body, privateKey)
  const whole = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}

/** One DER element: its tag, its length, its contents. */
function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const length = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

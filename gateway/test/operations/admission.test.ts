/** Limits on the resources of requests in flight, and the checks before a body is read. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import type { Environment } from '../../src/config.ts'
import { ask, askJson, expectProblem, form, pixel, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator } from '../kit/operator.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let key: TestKey
let other: TestKey
let poor: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  key = await createKey(postgres, await createAccount(postgres))
  other = await createKey(postgres, await createAccount(postgres))
  poor = await createKey(postgres, await createAccount(postgres, { balance: 0 }))
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A second gateway on the same database with other limits. */
const limited = (environment: Environment) => startGateway(environment, gateway)

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const textsOf = (fields: object) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))
const orderForm = () => form({ ...textsOf(order), input_reference: pixel })

interface Sender {
  socket: Socket
  /** The bytes received so far. */
  text: () => string
  /** Resolves to the status once the complete head of a response has arrived. */
  status: () => Promise<number>
}

/** Sends the head of a request and leaves the body to the test. */
const begin = async (
  url: string,
  text: string,
  { path = '/v1/videos', headers = {} } = {},
): Promise<Sender> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  socket.on('error', () => undefined)
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += String(chunk)
  })
  const lines = Object.entries({
    host: 'x',
    authorization: `Bearer ${text}`,
    'content-type': 'application/json',
    ...headers,
  })
  socket.write(
    `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  )
  await once(socket, 'connect')
  return {
    socket,
    text: () => received,
    status: async () => {
      while (!/HTTP\/1\.1 [2-5]\d\d [^]*\r\n\r\n/.test(received)) await once(socket, 'data')
      return Number(/HTTP\/1\.1 ([2-5]\d\d)/.exec(received)?.[1])
    },
  }
}

/** Starts a request; the server is waiting for its body when this resolves. */
const beginWaiting = async (url: string, text: string, headers: Record<string, string> = {}) => {
  const sender = await begin(url, text, { headers: { expect: '100-continue', ...headers } })
  while (!sender.text().includes('100 Continue')) await once(sender.socket, 'data')
  return sender
}

const uploadHead = (sizeBytes: number) => ({
  'content-type': 'multipart/form-data; boundary=b',
  'content-length': String(sizeBytes),
})

/** A form whose only file has partly arrived. */
const partOfForm = (name: string, content: string) =>
  `--b\r\ncontent-disposition: form-data; name="${name}"; filename="a.png"\r\n\r\n${content}`

const gone = (sender: Sender) => {
  sender.socket.destroy()
}

/** Repeats a request until it is no longer refused for lack of capacity. */
const askUntilAdmitted = async (send: () => Promise<Answer>): Promise<Answer> => {
  for (;;) {
    const answer = await send()
    if (answer.status !== 429 && answer.status !== 503) return answer
    await pause(10)
  }
}

describe('a body that is announced but not sent', () => {
  test.each([
    ['with a length', { 'content-length': String(80 * 1_048_576) }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('%s delays neither another key nor an operator', async (_, headers) => {
    const senders = await Promise.all(
      Array.from({ length: 8 }, () => beginWaiting(gateway.url, key.text, headers)),
    )
    for (const { socket } of senders) socket.write('transfer-encoding' in headers ? '1\r\n{\r\n' : '{')
    expect((await askJson(`${gateway.url}/v1/videos`, other.text, order)).status).toBe(200)
    expect((await askJson(`${gateway.url}/v1/videos`, key.text, order)).status).toBe(200)
    const operator = await createOperator(gateway)
    await operator.call('createAccount', { body: { name: 'made meanwhile' } })
    for (const sender of senders) expect(sender.text()).not.toMatch(/HTTP\/1\.1 [2-5]/)
    senders.forEach(gone)
  })
})

test('a client that resets its connection right after a complete body holds no resources', async () => {
  await using own = await limited({ LIMIT_REQUESTS_IN_FLIGHT: 'key=4' })
  const body = gzipSync(JSON.stringify({ ...order, unknown: 'a'.repeat(200_000) }))
  for (let count = 0; count < 40; count += 1) {
    const { hostname, port } = new URL(own.url)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\nContent-Length: ${body.length}\r\n` +
        'Content-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n',
    )
    socket.write(body, () => socket.resetAndDestroy())
    await once(socket, 'close')
  }
  const create = () => askJson(`${own.url}/v1/videos`, key.text, order)
  expect((await askUntilAdmitted(create)).status).toBe(200)
})

describe('JSON is bounded while it arrives', () => {
  const inflated = 60 * 1_048_576
  const sendGzip = (body: Buffer) =>
    ask(`${gateway.url}/v1/videos`, key.text, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: new Uint8Array(gzipSync(body)),
    })

  test.each([
    ['lists in lists', () => Buffer.alloc(inflated, '['), 'invalid_request'],
    [
      'empty lists',
      () => Buffer.concat([Buffer.from('{"a":['), Buffer.alloc(inflated, '[],')]),
      'invalid_request',
    ],
    [
      'members',
      () => Buffer.concat([Buffer.from('{"a":['), Buffer.alloc(inflated, '0,')]),
      'invalid_request',
    ],
    [
      'a name without an end',
      () => Buffer.concat([Buffer.from('{"'), Buffer.alloc(inflated, 'a')]),
      'request_too_large',
    ],
    [
      'white space',
      () => Buffer.concat([Buffer.from('{'), Buffer.alloc(inflated, ' ')]),
      'request_too_large',
    ],
    [
      'one text',
      () => Buffer.concat([Buffer.from('{"prompt":"'), Buffer.alloc(inflated, 'a')]),
      'request_too_large',
    ],
  ] as const)('a small body that inflates to %s is refused', async (_, bodyOf, code) => {
    const before = await recordOf(gateway)
    expectProblem(await sendGzip(bodyOf()), code)
    expect(await recordOf(gateway)).toEqual(before)
  })

  test('a text that is too long for its parameter is refused with the name of the parameter, spooled or not', async () => {
    const long = 'a'.repeat(300_000)
    expectProblem(
      await askJson(`${gateway.url}/v1/videos`, key.text, { ...order, prompt: long }),
      'invalid_parameter',
      'prompt',
    )
    // A prompt may have 32,000 characters, each of which JSON may escape with six bytes.
    const escaped = JSON.stringify({ ...order, prompt: 'PROMPT' }).replace('PROMPT', '\\u00e9'.repeat(32_000))
    expect((await askJson(`${gateway.url}/v1/videos`, key.text, escaped)).status).toBe(200)
    const answer = await askJson(`${gateway.url}/v1/videos`, key.text, { ...order, unknown: long })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('unknown')
  })
})

test('a connection can be reused after a body was refused in its middle', async () => {
  const bodies = [`{"a":[${'0,'.repeat(200_000)}0]}`, `{"a":"${'a'.repeat(2_000_000)}`, '['.repeat(100_000)]
  for (const body of bodies) {
    const sender = await begin(gateway.url, key.text, {
      path: '/v1/audio/speech',
      headers: { 'content-length': String(body.length) },
    })
    sender.socket.write(body)
    expect([400, 413]).toContain(await sender.status())
    if (!sender.socket.destroyed) sender.socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
    while (!sender.text().includes('{"status":"ok"}')) await once(sender.socket, 'data')
    gone(sender)
  }
})

describe('requests in flight', () => {
  test('above the limit of a key get a 429, others go on, and a finished request frees capacity', async () => {
    await using own = await limited({ LIMIT_REQUESTS_IN_FLIGHT: 'key=2' })
    const senders = [
      await beginWaiting(own.url, key.text, { 'content-length': '1000' }),
      await beginWaiting(own.url, key.text, { 'content-length': '1000' }),
    ]
    const refused = await askJson(`${own.url}/v1/videos`, key.text, order)
    expectProblem(refused, 'rate_limit_exceeded')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await askJson(`${own.url}/v1/videos`, other.text, order)).status).toBe(200)
    senders.forEach(gone)
    const answer = await askUntilAdmitted(() => askJson(`${own.url}/v1/videos`, key.text, order))
    expect(answer.status).toBe(200)
  })

  test('used up by customers leave capacity for operators and health checks', async () => {
    await using own = await limited({ LIMIT_REQUESTS_IN_FLIGHT: 'total=10' })
    const senders: Sender[] = []
    for (let count = 0; count < 9; count += 1) {
      senders.push(await beginWaiting(own.url, key.text, { 'content-length': '1000' }))
    }
    // A create is checked after the other creates of its address.
    expectProblem(await askJson(`${own.url}/v1/videos`, other.text, order), 'service_unavailable')
    const operator = await createOperator({ ...own, database: gateway.database })
    await operator.call('listAccounts')
    expect((await ask(`${own.url}/livez`, undefined)).status).toBe(200)
    senders.forEach(gone)
  })
})

describe('uploads in flight', () => {
  test('above the limit of a key are refused before their body is read; small JSON does not count', async () => {
    await using own = await limited({ LIMIT_UPLOADS_IN_FLIGHT: 'key=1' })
    const first = await begin(own.url, key.text, { headers: uploadHead(1_000_000) })
    first.socket.write(partOfForm('input_reference', 'some of it'))
    // It is in flight when some of it is on disk.
    await expect.poll(async () => (await recordOf(gateway)).files.length).toBe(1)
    const second = await begin(own.url, key.text, { headers: uploadHead(1_000_000) })
    expect(await second.status()).toBe(429)
    const large = await begin(own.url, key.text, { headers: { 'content-length': '100000' } })
    expect(await large.status()).toBe(429)
    expect((await askJson(`${own.url}/v1/videos`, key.text, order)).status).toBe(200)
    for (const sender of [first, second, large]) gone(sender)
    const create = () => ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body: orderForm() })
    expect((await askUntilAdmitted(create)).status).toBe(200)
  })

  test('of an account that has all of them give way to another account, which is served', async () => {
    // A tenth is reserved for operators, and nothing must be too slow while the test prepares.
    await using own = await limited({
      LIMIT_UPLOADS_IN_FLIGHT: 'total=5',
      LIMIT_UPLOAD_BYTES_PER_SECOND_MIN: '0',
    })
    const before = (await recordOf(gateway)).files.length
    const senders: Sender[] = []
    for (let count = 0; count < 4; count += 1) {
      const sender = await begin(own.url, key.text, { headers: uploadHead(1_000_000) })
      sender.socket.write(partOfForm('input_reference', 'some of it'))
      senders.push(sender)
    }
    await expect.poll(async () => (await recordOf(gateway)).files.length).toBe(before + 4)
    try {
      const large = { ...order, unknown: 'a'.repeat(100_000) }
      expectProblem(await askJson(`${own.url}/v1/videos`, poor.text, large), 'insufficient_balance')
      expect(senders.map(({ text }) => text())).toEqual(['', '', '', ''])
      expect((await askJson(`${own.url}/v1/videos`, other.text, large)).status).toBe(200)
      const answered = () => senders.filter(({ text }) => text() !== '')
      await expect.poll(() => answered().length).toBe(1)
      const [aborted] = answered()
      expect(await aborted?.status()).toBe(429)
      expect(aborted?.text()).toMatch(/retry-after: 5/i)
      expect(aborted?.text()).toContain('Send fewer at once')
    } finally {
      // The gateway would wait for them when it closes.
      senders.forEach(gone)
    }
  })

  test('are counted by their bytes on disk as they arrive, and leave no files', async () => {
    await using own = await limited({ LIMIT_SPOOL_BYTES: 'key=100KiB' })
    const before = await recordOf(gateway)
    const body = form(textsOf(order))
    body.append('input_reference', new Blob([new Uint8Array(200 * 1024)]), 'a.png')
    const answer = await ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body })
    expectProblem(answer, 'service_unavailable')
    expect(answer.headers.get('retry-after')).toBe('2')
    expect(await recordOf(gateway)).toEqual(before)
    const create = () => ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body: orderForm() })
    expect((await create()).status).toBe(200)
  })

  test('are refused while the disk has less free space than the minimum; small JSON is not', async () => {
    await using own = await limited({ DISK_FREE_BYTES_MIN: '1000000GiB' })
    const before = await recordOf(gateway)
    const answer = await ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body: orderForm() })
    expectProblem(answer, 'service_unavailable')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await recordOf(gateway)).toEqual(before)
    expect((await askJson(`${own.url}/v1/videos`, key.text, order)).status).toBe(200)
  })
})

test('a form whose file cannot be written to the disk is not called invalid', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-media-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await using own = await limited({ MEDIA_DIRECTORY: directory })
  await rm(directory, { recursive: true })
  const answer = await ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body: orderForm() })
  expect(answer.status).toBeGreaterThanOrEqual(500)
})

describe('body bytes in memory', () => {
  test('are counted as they arrive, for JSON and for the fields of forms', async () => {
    await using own = await limited({ LIMIT_BODY_BYTES: 'key=100KiB' })
    const long = {
      ...order,
      metadata: { note: 'x' },
      unknown: Array.from({ length: 4 }, () => 'a'.repeat(40_000)),
    }
    expectProblem(await askJson(`${own.url}/v1/videos`, key.text, long), 'service_unavailable')
    const body = form({ ...textsOf(order), unknown: 'a'.repeat(150_000) })
    expectProblem(
      await ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body }),
      'service_unavailable',
    )
    expect((await askJson(`${own.url}/v1/videos`, key.text, order)).status).toBe(200)
  })

  test('the fields of one form may have two mebibytes', async () => {
    const body = form(textsOf(order))
    for (let index = 0; index < 4; index += 1) body.append(`unknown${index}`, 'a'.repeat(700_000))
    expectProblem(
      await ask(`${gateway.url}/v1/videos`, key.text, { method: 'POST', body }),
      'request_too_large',
    )
  })
})

describe('a file under a name that is not a file parameter', () => {
  test('is discarded without spooling, and named in the response', async () => {
    await using own = await limited({ LIMIT_SPOOL_BYTES: 'key=10KiB' })
    const before = await recordOf(gateway)
    const body = form(textsOf(order))
    body.append('attachment', new Blob([new Uint8Array(2_000_000)]), 'a.bin')
    const answer = await ask(`${own.url}/v1/videos`, key.text, { method: 'POST', body })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('attachment')
    expect((await recordOf(gateway)).files).toEqual(before.files)
  })

  test('counts towards the size of the form', async () => {
    const body = form(textsOf(order))
    for (let index = 0; index < 5; index += 1) {
      body.append(`attachment${index}`, new Blob([new Uint8Array(19 * 1_048_576)]), 'a.bin')
    }
    expectProblem(
      await ask(`${gateway.url}/v1/videos`, key.text, { method: 'POST', body }),
      'request_too_large',
    )
  })

  test('does not count as a text parameter', async () => {
    const { prompt: _, ...rest } = order
    const body = form(textsOf(rest))
    body.append('prompt', new Blob(['A whale']), 'prompt.txt')
    expectProblem(
      await ask(`${gateway.url}/v1/videos`, key.text, { method: 'POST', body }),
      'invalid_parameter',
      'prompt',
    )
  })
})

describe('a caller who cannot pay for anything', () => {
  const statusOfHead = async (headers: Record<string, string>, path?: string) => {
    const sender = await begin(gateway.url, poor.text, { headers, ...(path !== undefined && { path }) })
    const status = await sender.status()
    gone(sender)
    return { status, text: sender.text() }
  }

  test('is refused before the body of a form or of large JSON is read', async () => {
    for (const headers of [uploadHead(1_000_000), { 'content-length': '65537' }]) {
      const { status, text } = await statusOfHead(headers)
      expect(status).toBe(402)
      expect(text).toContain('"code":"insufficient_balance"')
    }
    const recording = await statusOfHead(uploadHead(20_000_000), '/v1/audio/transcriptions')
    expect(recording.status).toBe(402)
  })

  test('is refused in the middle of a body that turns out to be large', async () => {
    const sender = await begin(gateway.url, poor.text, { headers: { 'transfer-encoding': 'chunked' } })
    sender.socket.write(`20000\r\n{"prompt":"${'a'.repeat(0x20000 - 11)}\r\n`)
    expect(await sender.status()).toBe(402)
    gone(sender)
  })

  test('is refused before a program inspects a recording or a video of any size', async () => {
    const answer = await askJson(`${gateway.url}/vidB/v1/characters`, poor.text, {
      url: 'https://example.com/video.mp4',
      timestamps: '0,2',
    })
    expectProblem(answer, 'insufficient_balance')
    const data = Buffer.from('ID3 and no music').toString('base64')
    const spoken = { type: 'input_audio', input_audio: { data, format: 'mp3' } }
    const chat = { model: 'chat-4o-audio-preview', messages: [{ role: 'user', content: [spoken] }] }
    expectProblem(
      await askJson(`${gateway.url}/v1/chat/completions`, poor.text, chat),
      'insufficient_balance',
    )
  })

  test('has small JSON checked in the usual order, and gets quotes', async () => {
    const refused = await askJson(`${gateway.url}/v1/videos`, poor.text, { ...order, seconds: 9 })
    expectProblem(refused, 'invalid_parameter', 'seconds')
    const quote = await ask(`${gateway.url}/v1/videos?dry_run=true`, poor.text, {
      method: 'POST',
      body: orderForm(),
    })
    expect(quote.status).toBe(200)
    expect(quote.body).toMatchObject({ object: 'quote', fits: false })
  })

  test('gets the stored response of a completed request', async () => {
    const { postgres } = gateway.database
    const spender = await createKey(postgres, await createAccount(postgres, { balance: 0.4 }))
    const create = (headers: Record<string, string>) =>
      ask(`${gateway.url}/v1/videos`, spender.text, { method: 'POST', headers, body: orderForm() })
    const first = await create({ 'idempotency-key': 'once' })
    expect(first.status).toBe(200)
    expectProblem(await create({}), 'insufficient_balance')
    expectProblem(await create({ 'idempotency-key': 'another' }), 'insufficient_balance')
    const replay = await create({ 'idempotency-key': 'once' })
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(replay.body).toEqual(first.body)
  })

  test('may use a free model', async () => {
    await using own = await startGateway()
    const { postgres } = own.database
    const broke = await createKey(postgres, await createAccount(postgres, { balance: 0 }))
    const create = () => ask(`${own.url}/v1/videos`, broke.text, { method: 'POST', body: orderForm() })
    expectProblem(await create(), 'insufficient_balance')
    const operator = await createOperator(own)
    await operator.call('setPrice', { body: { model: 'vidB-2', unit: 'second', unit_micros: 0 } })
    expect((await create()).status).toBe(200)
  })
})

describe('while this process is overloaded', () => {
  test('creates are refused at once; reads, health checks and operators go on', async () => {
    await using own = await limited({ OVERLOAD_MEMORY_BYTES: '1' })
    const create = () => askJson(`${own.url}/v1/videos`, key.text, order)
    // The load is measured once a second.
    await expect.poll(async () => (await create()).status).toBe(503)
    const refused = await create()
    expectProblem(refused, 'service_unavailable')
    expect(refused.headers.get('retry-after')).toBe('2')
    expect((await ask(`${own.url}/v1/models`, key.text)).status).toBe(200)
    expect((await ask(`${own.url}/livez`, undefined)).status).toBe(200)
    const operator = await createOperator({ ...own, database: gateway.database })
    await operator.call('createAccount', { body: { name: 'made meanwhile' } })
  })

  test('a refused create that never sends its body is disconnected', async () => {
    await using own = await limited({ OVERLOAD_MEMORY_BYTES: '1' })
    const create = () => askJson(`${own.url}/v1/videos`, key.text, order)
    await expect.poll(async () => (await create()).status).toBe(503)
    // Makes the account of the key known, so that the refusal comes before the router.
    expect((await ask(`${own.url}/v1/videos`, key.text)).status).toBe(200)
    const sender = await begin(own.url, key.text, { headers: { 'content-length': '1000' } })
    expect(await sender.status()).toBe(503)
    await once(sender.socket, 'close')
  })

  test('a refusal looks the same before and after the router', async () => {
    await using own = await limited({ OVERLOAD_MEMORY_BYTES: '1' })
    const create = (path: string) => askJson(`${own.url}${path}`, key.text, order)
    await expect.poll(async () => (await create('/v1/videos')).status).toBe(503)
    // A read makes the account of the key known. The router alone knows that the second path leads to a create.
    expect((await ask(`${own.url}/v1/videos`, key.text)).status).toBe(200)
    const [early, late] = await Promise.all([create('/v1/videos'), create('/v1/videos/')])
    const shown = ({ status, headers, body }: Answer) => ({
      status,
      body: { error: { ...(body['error'] as object), request_id: '' } },
      headers: [...headers]
        .filter(([name]) => !['date', 'x-request-id'].includes(name))
        // It has a random addition.
        .map(([name, value]) => [name, name === 'retry-after-ms' ? value.length : value]),
    })
    expect(shown(early)).toEqual(shown(late))
    expect(early.headers.get('x-request-id')).toMatch(/^req_/)
    expect(early.body).toMatchObject({ error: { request_id: early.headers.get('x-request-id') } })
  })
})

describe('while creates wait for the database', () => {
  /** Blocks every commit of a create until it is disposed. */
  const blockCommits = async () => {
    const blocking = Promise.withResolvers<void>()
    const blocked = Promise.withResolvers<void>()
    const ended = gateway.database.postgres.transaction(async (database) => {
      await database.query('lock table open_tasks in access exclusive mode')
      blocked.resolve()
      await blocking.promise
    })
    await blocked.promise
    return {
      [Symbol.asyncDispose]: async () => {
        blocking.resolve()
        await ended
      },
    }
  }

  test('more are refused at once, first those of the account with most of them; everything else goes on', async () => {
    await using own = await limited({ OVERLOAD_WAITING_CREATES: '4', OVERLOAD_CREATE_WAIT_MS: '0' })
    const create = (by: TestKey, headers = {}) =>
      ask(`${own.url}/v1/videos`, by.text, {
        method: 'POST',
        body: JSON.stringify(order),
        headers: { 'content-type': 'application/json', ...headers },
      })
    // The second gateway knows the accounts of keys that were used there.
    const replayed = { 'idempotency-key': 'accepted before' }
    expect((await create(key, replayed)).status).toBe(200)
    expect((await create(other)).status).toBe(200)

    const sent: Promise<Answer>[] = []
    let refused: Answer | undefined
    let small: Promise<Answer>
    {
      await using _ = await blockCommits()
      while (refused === undefined) {
        const answer = create(key)
        sent.push(answer)
        void answer.then((given) => {
          if (given.status === 503) refused = given
        })
        await pause(50)
      }
      const sender = await begin(own.url, key.text, { headers: { 'content-length': '1000' } })
      // Refused before the body has arrived.
      expect(await sender.status()).toBe(503)
      gone(sender)
      small = create(other)
      expect((await ask(`${own.url}/v1/models`, key.text)).status).toBe(200)
      expect((await ask(`${own.url}/v1/videos`, key.text)).status).toBe(200)
      expect((await ask(`${own.url}/livez`, undefined)).status).toBe(200)
      const operator = await createOperator({ ...own, database: gateway.database })
      await operator.call('createAccount', { body: { name: 'made meanwhile' } })
    }
    expectProblem(refused, 'service_unavailable')
    expect(refused.headers.get('retry-after')).toBe('2')
    const accepted = (await Promise.all(sent)).filter(({ status }) => status === 200)
    expect(accepted.length).toBeGreaterThanOrEqual(4)
    expect((await small).status).toBe(200)
    expect((await create(key, replayed)).headers.get('idempotent-replayed')).toBe('true')
  })
})

test('with admission control switched off there are no limits', async () => {
  await using own = await limited({
    ADMISSION_CONTROL: 'false',
    LIMIT_REQUESTS_IN_FLIGHT: 'key=1',
    LIMIT_UPLOADS_IN_FLIGHT: 'key=1',
  })
  const senders = [
    await beginWaiting(own.url, key.text, { 'content-length': '100000' }),
    await beginWaiting(own.url, key.text, { 'content-length': '100000' }),
  ]
  expect((await askJson(`${own.url}/v1/videos`, key.text, order)).status).toBe(200)
  senders.forEach(gone)
})

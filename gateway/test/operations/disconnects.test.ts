/** Clients that disconnect: before the provider answers, before the first byte of a streamed reply, and in its middle. */
import { randomUUID } from 'node:crypto'
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { pixelBytes } from '../kit/answers.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { createSpender, meteredRequestsOf, paygBalanceOf } from '../kit/spender.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

/** An HTTP server whose replies are held back until a test lets them go. */
const startHeldServer = async () => {
  const waiting: ServerResponse[] = []
  const server = createServer((request, response) => {
    request.resume()
    response.on('error', () => undefined)
    waiting.push(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    next: () =>
      expect
        .poll(() => waiting.length)
        .toBe(1)
        .then(() => waiting.pop() as ServerResponse),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

let held: Awaited<ReturnType<typeof startHeldServer>>
let gateway: VendorGateway

/** The gateway's side of each connection, by the path and marker of its request. */
const served = new Map<string, ServerResponse>()
const onStart = (message: unknown) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
  const marker = request.headers['x-client-request-id']
  if (typeof marker !== 'string') return
  served.set(marker, response)
  onServed.get(marker)?.(response)
}
const onServed = new Map<string, (response: ServerResponse) => void>()

beforeAll(async () => {
  diagnostics.subscribe('http.server.request.start', onStart)
  held = await startHeldServer()
  gateway = await startVendorGateway({ FETCH_ALLOW_ORIGINS: held.url }, {}, { baseUrl: held.url })
})
afterAll(async () => {
  diagnostics.unsubscribe('http.server.request.start', onStart)
  await gateway[Symbol.asyncDispose]()
  held.close()
})

interface Streamed {
  path: string
  body: () => FormData | object
  /** What it costs where the provider has done all of it. */
  costs?: number
  /** How the provider begins, and how it ends. */
  begin: (vendor: ServerResponse) => void
  finish: (vendor: ServerResponse) => void
}

const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
const events = (vendor: ServerResponse, event: object) =>
  vendor.writeHead(200, { 'content-type': 'text/event-stream' }).write(data(event))
const speech = (more: object): Streamed => ({
  path: '/v1/audio/speech',
  // Eleven characters.
  costs: 165,
  body: () => ({ model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy', ...more }),
  begin: (vendor) => vendor.writeHead(200, { 'content-type': 'audio/mpeg' }).write('first bytes'),
  finish: (vendor) => vendor.end(' and the rest'),
})
const kinds: Record<string, Streamed> = {
  'speech as bytes': speech({}),
  'speech as events': speech({ stream_format: 'sse' }),
  'a transcription': {
    path: '/v1/audio/transcriptions',
    costs: 100,
    body: () => audioForm(wave(1), { model: 'asr-1', stream: 'true' }),
    begin: (vendor) => events(vendor, { type: 'transcript.text.delta', delta: 'Hello' }),
    finish: (vendor) => vendor.end(data({ type: 'transcript.text.done', text: 'Hello there' })),
  },
  'a chat': {
    path: '/v1/chat/completions',
    body: () => ({
      model: 'chat-4o-audio-preview',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
    }),
    begin: (vendor) =>
      events(vendor, { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] }),
    finish: (vendor) => {
      const usage = { prompt_tokens: 3, completion_tokens: 2 }
      vendor.write(data({ choices: [{ index: 0, delta: { content: ' there' }, finish_reason: 'stop' }] }))
      vendor.end(`${data({ choices: [], usage })}data: [DONE]\n\n`)
    },
  },
}

const json = (vendor: ServerResponse, body: object) =>
  vendor.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const talk = (more: object): Pick<Streamed, 'path' | 'body'> => ({
  path: '/v1/chat/completions',
  body: () => ({
    model: 'chat-4o-audio-preview',
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  }),
})
/** What is answered in one piece. */
const whole: Record<string, Omit<Streamed, 'finish'>> = {
  'a transcription': {
    path: '/v1/audio/transcriptions',
    body: () => audioForm(wave(1), { model: 'asr-1' }),
    costs: 100,
    begin: (vendor) => json(vendor, { text: 'Hello there' }),
  },
  'a translation': {
    path: '/v1/audio/translations',
    body: () => audioForm(wave(1), { model: 'asr-1' }),
    costs: 100,
    begin: (vendor) => json(vendor, { text: 'Hello there' }),
  },
  'a chat': {
    ...talk({}),
    begin: (vendor) =>
      json(vendor, {
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 300, completion_tokens: 200 },
      }),
  },
  'a spoken chat': {
    ...talk({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }),
    begin: (vendor) =>
      json(vendor, {
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: null,
              audio: { id: 'x', expires_at: 1, data: wave(1).toString('base64'), transcript: 'Hello' },
            },
            finish_reason: 'stop',
          },
        ],
        usage: { prompt_tokens: 300, completion_tokens: 200 },
      }),
  },
}

type Moment = 'before the response' | 'before the first byte' | 'in the middle'
const moments: Moment[] = ['before the response', 'before the first byte', 'in the middle']

/** `url` among the headers names another gateway. */
const send = async (
  path: string,
  body: FormData | object,
  { url = gateway.url, ...headers }: Record<string, string>,
): Promise<ClientRequest> => {
  const encoded =
    body instanceof FormData
      ? new Response(body)
      : new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })
  const client = httpRequest(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': encoded.headers.get('content-type') ?? '', ...headers },
  })
  client.on('error', () => undefined)
  client.end(Buffer.from(await encoded.arrayBuffer()))
  return client
}

/** Ends the connection just as the reply's headers are written, when nothing of its body has been read. */
const disconnectAtHeaders = (response: ServerResponse) => {
  const setHeader = response.setHeader.bind(response)
  const writeHead = response.writeHead.bind(response)
  response.setHeader = (...given) => {
    response.destroy()
    return setHeader(...given)
  }
  response.writeHead = (...given: unknown[]) => {
    response.destroy()
    return writeHead(...(given as Parameters<typeof writeHead>))
  }
}

const closed = async (response: ServerResponse) => {
  if (!response.closed) await once(response, 'close')
}

const leave = async (
  { path, body, begin, finish }: Streamed,
  moment: Moment,
  headers: Record<string, string>,
) => {
  const marker = randomUUID()
  if (moment === 'before the first byte') onServed.set(marker, disconnectAtHeaders)
  const client = await send(path, body(), { ...headers, 'x-client-request-id': marker })
  const vendor = await held.next()
  const response = served.get(marker) as ServerResponse
  if (moment === 'before the response') {
    client.destroy()
    await closed(response)
    begin(vendor)
  } else {
    begin(vendor)
    if (moment === 'in the middle') {
      const [reply] = (await once(client, 'response')) as [IncomingMessage]
      reply.on('error', () => undefined)
      await once(reply, 'data')
      client.destroy()
    }
    await closed(response)
  }
  finish(vendor)
}

const claimsOf = async (accountId: string) => {
  const { rows } = await gateway.database.postgres.query<{ status: number | null }>(
    'select status from idempotency_keys where account_id = $1',
    [accountId],
  )
  return rows
}

/** The hold is settled once, and the books agree. */
const settledRequestOf = async (account: string) => {
  const { postgres } = gateway.database
  await expect.poll(() => paygBalanceOf(postgres, account)).toMatchObject({ held: 0 })
  expect(await meteredRequestsOf(postgres, account)).toHaveLength(1)
  expect(await brokenInvariants(postgres)).toEqual([])
  return (await meteredRequestsOf(postgres, account))[0] as { outcome: string; captured: number }
}

describe.each(Object.entries(kinds))('%s', (_, kind) => {
  test.each(moments)(
    'with an idempotency key, disconnected %s: finished, charged, replayed',
    async (moment) => {
      const { account, text } = await createSpender(gateway.database.postgres, 1_000)
      const headers = { authorization: `Bearer ${text}`, 'idempotency-key': 'once' }
      await leave(kind, moment, headers)
      expect(await settledRequestOf(account)).toMatchObject({ outcome: 'completed' })
      await expect.poll(() => claimsOf(account)).toEqual([{ status: 200 }])
      const [replayed] = (await once(await send(kind.path, kind.body(), headers), 'response')) as [
        IncomingMessage,
      ]
      expect(replayed.headers['idempotent-replayed']).toBe('true')
      expect(Buffer.concat(await replayed.toArray()).length).toBeGreaterThan(0)
    },
  )

  test.each(moments)("without a key, disconnected %s: charged for the provider's work", async (moment) => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    await leave(kind, moment, { authorization: `Bearer ${text}` })
    const { outcome, captured } = await settledRequestOf(account)
    expect(outcome).toBe('aborted')
    if (kind.costs === undefined) expect(captured).toBeGreaterThan(0)
    else expect(captured).toBe(kind.costs)
    expect(await claimsOf(account)).toEqual([])
  })

  test('without a key, disconnected before the provider fails: not charged', async () => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    const fails = { ...kind, begin: (vendor: ServerResponse) => vendor.destroy(), finish: () => undefined }
    await leave(fails, 'before the response', { authorization: `Bearer ${text}` })
    expect(await settledRequestOf(account)).toMatchObject({ outcome: 'aborted', captured: 0 })
  })
})

describe.each(Object.entries(whole))('%s without streaming', (_, given) => {
  const kind: Streamed = { ...given, finish: () => undefined }

  test('with an idempotency key: finished, charged, replayed', async () => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    const headers = { authorization: `Bearer ${text}`, 'idempotency-key': 'once' }
    await leave(kind, 'before the response', headers)
    expect(await settledRequestOf(account)).toMatchObject({ outcome: 'completed' })
    await expect.poll(() => claimsOf(account)).toEqual([{ status: 200 }])
    const [replayed] = (await once(await send(kind.path, kind.body(), headers), 'response')) as [
      IncomingMessage,
    ]
    expect(replayed.headers['idempotent-replayed']).toBe('true')
  })

  test('without a key: charged like a request whose response was read', async () => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    const headers = { authorization: `Bearer ${text}` }
    await leave(kind, 'before the response', headers)
    const { outcome, captured } = await settledRequestOf(account)
    expect(outcome).toBe('aborted')
    const reader = await createSpender(gateway.database.postgres, 1_000)
    const asked = await send(kind.path, kind.body(), { authorization: `Bearer ${reader.text}` })
    kind.begin(await held.next())
    const [reply] = (await once(asked, 'response')) as [IncomingMessage]
    expect(reply.statusCode).toBe(200)
    reply.resume()
    expect(await settledRequestOf(reader.account)).toMatchObject({ outcome: 'completed', captured })
    expect(captured).toBeGreaterThan(0)
    if (kind.costs !== undefined) expect(captured).toBe(kind.costs)
  })

  test('without a key, if the provider fails: not charged', async () => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    const fails = { ...kind, begin: (vendor: ServerResponse) => vendor.destroy() }
    await leave(fails, 'before the response', { authorization: `Bearer ${text}` })
    expect(await settledRequestOf(account)).toMatchObject({ outcome: 'aborted', captured: 0 })
  })

  test('retried by a client library: charged once, with the response of the first attempt', async () => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    const headers = { authorization: `Bearer ${text}`, 'x-stainless-lang': 'js' }
    await leave(kind, 'before the response', headers)
    expect(await settledRequestOf(account)).toMatchObject({ outcome: 'aborted' })
    const retry = { ...headers, 'x-stainless-retry-count': '1' }
    const [reply] = (await once(await send(kind.path, kind.body(), retry), 'response')) as [IncomingMessage]
    expect(reply.statusCode).toBe(200)
    expect(reply.headers['idempotent-replayed']).toBe('true')
    await settledRequestOf(account)
  })
})

describe('429 rate_limit_exceeded', () => {
  const transcription: Streamed = { ...whole['a transcription'], finish: () => undefined } as Streamed

  test('aborted requests of a key are limited, and requests with an idempotency key do not count', async () => {
    await using limited = await startVendorGateway(
      { LIMIT_ABORTED_PER_MINUTE: '2' },
      {},
      { baseUrl: held.url },
    )
    const { postgres } = limited.database
    const { account, text } = await createSpender(postgres, 1_000)
    const at = { url: limited.url, authorization: `Bearer ${text}` }
    await leave(transcription, 'before the response', { ...at, 'idempotency-key': 'expected back' })
    await leave(transcription, 'before the response', at)
    await leave(transcription, 'before the response', at)
    await expect.poll(() => paygBalanceOf(postgres, account)).toMatchObject({ held: 0 })
    const refused = async (path: string, body: FormData | object) => {
      const [reply] = (await once(await send(path, body, at), 'response')) as [IncomingMessage]
      const { error } = JSON.parse(Buffer.concat(await reply.toArray()).toString()) as {
        error: { code: string; message: string }
      }
      expect(reply.statusCode).toBe(429)
      expect(reply.headers['retry-after']).toMatch(/^\d+$/)
      expect(error).toMatchObject({
        code: 'rate_limit_exceeded',
        message: expect.stringMatching(/^Rate limit reached: 2 aborted requests per minute for this key\./),
      })
    }
    await refused(transcription.path, transcription.body())
    const { path, body } = speech({})
    await refused(path, body())
    expect(await meteredRequestsOf(postgres, account)).toHaveLength(3)
    // A quote is no request to a provider, and another key is not concerned.
    const quoted = await send(`${path}?dry_run=true`, body(), at)
    const [quote] = (await once(quoted, 'response')) as [IncomingMessage]
    expect(quote.statusCode).toBe(200)
    const other = await createSpender(postgres, 1_000)
    const asked = await send(transcription.path, transcription.body(), {
      ...at,
      authorization: `Bearer ${other.text}`,
    })
    transcription.begin(await held.next())
    const [reply] = (await once(asked, 'response')) as [IncomingMessage]
    expect(reply.statusCode).toBe(200)
  })
})

describe('a stopping process', () => {
  test("waits for the provider's work for a disconnected client, and charges it", async () => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    const own = await startVendorGateway({}, {}, { baseUrl: held.url }, gateway)
    const kind = whole['a transcription'] as Streamed
    const closing: PromiseLike<void>[] = []
    await leave(
      {
        ...kind,
        begin: (vendor) => {
          closing.push(own[Symbol.asyncDispose]())
          kind.begin(vendor)
        },
        finish: () => undefined,
      },
      'before the response',
      { url: own.url, authorization: `Bearer ${text}` },
    )
    await Promise.all(closing)
    expect(await meteredRequestsOf(gateway.database.postgres, account)).toMatchObject([
      { outcome: 'aborted', captured: 100 },
    ])
  })
})

describe('a video in a chat', () => {
  const video = (): Streamed => ({
    path: '/v1/chat/completions',
    body: () => ({
      model: 'vidB-2',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A whale' },
            { type: 'image_url', image_url: { url: `${held.url}/picture.png` } },
          ],
        },
      ],
      stream: true,
    }),
    begin: (server) => server.writeHead(200, { 'content-type': 'image/png' }).end(pixelBytes),
    finish: () => undefined,
  })
  const statesOf = async (account: string) => {
    const { rows } = await gateway.database.postgres.query<{ state: string }>(
      'select state from video_tasks where account_id = $1',
      [account],
    )
    return rows.map(({ state }) => state)
  }

  test.each(moments)('with an idempotency key, disconnected %s: the task goes on', async (moment) => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    await leave(video(), moment, { authorization: `Bearer ${text}`, 'idempotency-key': 'once' })
    await expect.poll(() => claimsOf(account)).toEqual([{ status: 200 }])
    expect(await statesOf(account)).toEqual(['pending'])
  })

  const cancelled: [string, Record<string, string>, Moment][] = [
    ...moments.map((moment): [string, Record<string, string>, Moment] => [
      'with an idempotency key',
      { 'idempotency-key': 'once' },
      moment,
    ]),
    ['without a key', {}, 'before the first byte'],
    ['without a key', {}, 'in the middle'],
  ]
  test.each(cancelled)(
    '%s, to be cancelled on disconnect: %o, disconnected %s',
    async (_, headers, moment) => {
      const { account, text } = await createSpender(gateway.database.postgres, 1_000)
      await leave(video(), moment, {
        authorization: `Bearer ${text}`,
        'x-cancel-on-disconnect': 'true',
        ...headers,
      })
      await expect.poll(() => statesOf(account)).toEqual(['failed'])
      expect(await paygBalanceOf(gateway.database.postgres, account)).toMatchObject({ held: 0 })
      expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
    },
  )
})

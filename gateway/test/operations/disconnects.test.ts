/** Clients that disconnect from a streamed reply: before it is answered, before its first byte, and in the middle. */
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

import { auditLedger } from '../../src/billing/ledger-store.ts'
import { pixelBytes } from '../kit/answers.ts'
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
  /** How the provider begins, and how it ends. */
  begin: (vendor: ServerResponse) => void
  finish: (vendor: ServerResponse) => void
}

const data = (event: object) => `data: ${JSON.stringify(event)}\n\n`
const events = (vendor: ServerResponse, event: object) =>
  vendor.writeHead(200, { 'content-type': 'text/event-stream' }).write(data(event))
const speech = (more: object): Streamed => ({
  path: '/v1/audio/speech',
  body: () => ({ model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy', ...more }),
  begin: (vendor) => vendor.writeHead(200, { 'content-type': 'audio/mpeg' }).write('first bytes'),
  finish: (vendor) => vendor.end(' and the rest'),
})
const kinds: Record<string, Streamed> = {
  'speech as bytes': speech({}),
  'speech as events': speech({ stream_format: 'sse' }),
  'a transcription': {
    path: '/v1/audio/transcriptions',
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

type Moment = 'before the answer' | 'before the first byte' | 'in the middle'
const moments: Moment[] = ['before the answer', 'before the first byte', 'in the middle']

const send = async (
  path: string,
  body: FormData | object,
  headers: Record<string, string>,
): Promise<ClientRequest> => {
  const encoded =
    body instanceof FormData
      ? new Response(body)
      : new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })
  const client = httpRequest(`${gateway.url}${path}`, {
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
  if (moment === 'before the answer') {
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
    'select status from kept_replies where account_id = $1',
    [accountId],
  )
  return rows
}

const sound = { sumMicros: 0, driftedBalances: 0, heldByFinished: 0 }

/** The hold is settled once, and the books agree. */
const settledRequestOf = async (account: string) => {
  const { postgres } = gateway.database
  await expect.poll(() => paygBalanceOf(postgres, account), { timeout: 10_000 }).toMatchObject({ held: 0 })
  expect(await meteredRequestsOf(postgres, account)).toHaveLength(1)
  expect(await auditLedger(postgres)).toEqual(sound)
  return (await meteredRequestsOf(postgres, account))[0] as { outcome: string; captured: number }
}

describe.each(Object.entries(kinds))('%s', (_, kind) => {
  test.each(moments)('with an idempotency key, left %s: finished, charged, replayed', async (moment) => {
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
  })

  test.each(moments)('without a key, left %s: ended, and the rest of the hold is back', async (moment) => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    await leave(kind, moment, { authorization: `Bearer ${text}` })
    const { outcome, captured } = await settledRequestOf(account)
    expect(outcome).toBe('aborted')
    if (moment === 'before the answer') expect(captured).toBe(0)
    expect(await claimsOf(account)).toEqual([])
  })
})

describe('a video by way of chat', () => {
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

  test.each(moments)('with an idempotency key, left %s: the task goes on', async (moment) => {
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
  test.each(cancelled)('%s, to be cancelled on disconnect: %o, left %s', async (_, headers, moment) => {
    const { account, text } = await createSpender(gateway.database.postgres, 1_000)
    await leave(video(), moment, {
      authorization: `Bearer ${text}`,
      'x-cancel-on-disconnect': 'true',
      ...headers,
    })
    await expect.poll(() => statesOf(account), { timeout: 10_000 }).toEqual(['failed'])
    expect(await paygBalanceOf(gateway.database.postgres, account)).toMatchObject({ held: 0 })
    expect(await auditLedger(gateway.database.postgres)).toEqual(sound)
  })
})

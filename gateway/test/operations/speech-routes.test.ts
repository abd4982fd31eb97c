/** Failover between providers of one model while the client waits. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { askJson, expectProblem } from '../kit/answers.ts'
import { createSpender, meteredRequestsOf } from '../kit/spender.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const model = 'chat-4o-mini-tts-2025-12-15'
const modelOfOne = 'ttsB-3.1-flash-tts-preview'
const talker = 'chat-4o-audio-preview'
const often = { interval: 20 }

/** A vendor whose speech is its name. Its responses and availability can be changed. */
const startSpeaker = async (name: string) => {
  const speaker = {
    name,
    url: '',
    calls: 0,
    lastCallMs: 0,
    shortestGapMs: Infinity,
    status: 200,
    /** Returned once, then `status`. */
    statusOnce: undefined as number | undefined,
    headers: {} as Record<string, string>,
    /** If set, responses wait for it. */
    hold: undefined as Promise<void> | undefined,
    leave: () => Promise.resolve(),
    comeBack: () => Promise.resolve(),
  }
  const answer = async (response: ServerResponse) => {
    speaker.calls += 1
    speaker.shortestGapMs = Math.min(speaker.shortestGapMs, performance.now() - speaker.lastCallMs)
    speaker.lastCallMs = performance.now()
    await speaker.hold
    const { statusOnce, headers } = speaker
    const status = statusOnce ?? speaker.status
    speaker.statusOnce = undefined
    const type = status === 200 ? 'audio/wav' : 'application/json'
    response.writeHead(status, { 'content-type': type, connection: 'close', ...headers })
    response.end(status === 200 ? name : JSON.stringify({ error: { code: 'whatever', message: 'No.' } }))
  }
  const server = createServer((request, response) => {
    request.resume().on('end', () => void answer(response))
  })
  const listen = (port: number) =>
    new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve)
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  speaker.url = `http://127.0.0.1:${port}`
  speaker.leave = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  speaker.comeBack = async () => {
    if (!server.listening) await listen(port)
  }
  return speaker
}
type Speaker = Awaited<ReturnType<typeof startSpeaker>>

let directory: string
let first: Speaker
let second: Speaker
let talkers: Vendor[]
let gateway: TestGateway
let environment: Record<string, string>
let key: Awaited<ReturnType<typeof createSpender>>

/** The first is a vendor, the second the built-in kind, which does not follow instructions. */
const setUp = () => ({
  providers: {
    first: { kind: 'openai', baseUrl: first.url, apiKey: 'one' },
    second: { kind: 'local', baseUrl: second.url },
    third: { kind: 'openai', baseUrl: talkers[0]?.url, apiKey: 'three' },
    fourth: { kind: 'openai', baseUrl: talkers[1]?.url, apiKey: 'four' },
  },
  models: {
    [model]: { routes: [{ provider: 'second', order: 2 }, { provider: 'first' }] },
    [modelOfOne]: { routes: [{ provider: 'first' }] },
    [talker]: { routes: [{ provider: 'third' }, { provider: 'fourth', order: 2 }] },
  },
})

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-routes-'))
  first = await startSpeaker('first')
  second = await startSpeaker('second')
  talkers = await Promise.all([startVendor(), startVendor()])
  environment = { PROVIDERS_FILE: join(directory, 'providers.yaml') }
  await writeFile(join(directory, 'providers.yaml'), JSON.stringify(setUp()))
  gateway = await startGateway(environment)
  key = await createSpender(gateway.database.postgres, 1_000)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await Promise.all([first, second].map((speaker) => speaker.leave()))
  await Promise.all(talkers.map((vendor) => vendor.close()))
  await rm(directory, { recursive: true, force: true })
})

/** Every test starts with healthy providers and without calls. */
beforeEach(async () => {
  const { postgres } = gateway.database
  for (const speaker of [first, second]) {
    Object.assign(speaker, { status: 200, headers: {}, hold: undefined })
    await speaker.comeBack()
  }
  await postgres.query('delete from route_health')
  await postgres.notify('route_health', '')
  await expect.poll(() => saidBy(), often).toBe('first')
  for (const speaker of [first, second]) {
    Object.assign(speaker, { calls: 0, lastCallMs: -Infinity, shortestGapMs: Infinity })
  }
})

const order = { model, input: 'Hello.', voice: 'alloy', response_format: 'wav' }
const say = (given: object = {}, url = gateway.url, { text } = key) =>
  fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...order, ...given }),
    signal: AbortSignal.timeout(120_000),
  })
/** The vendor that made the speech. */
const saidBy = async (url?: string) => (await say({}, url)).text()
const ask = (given: object = {}) =>
  askJson(`${gateway.url}/v1/audio/speech`, key.text, { ...order, ...given })

const healthOf = async (provider: string) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    `select openings, reason, recovered_at is not null as "isHealthy" from route_health where provider = $1`,
    [provider],
  )
  return rows[0]
}
const becomes = (provider: string, wanted: Record<string, unknown> | undefined) =>
  expect.poll(() => healthOf(provider), often).toMatchObject(wanted ?? {})

/** Ends the open time of a breaker. */
const letTimePass = async () => {
  const { postgres } = gateway.database
  await postgres.query(`update route_health set open_until = now() - interval '1 second'`)
  await postgres.notify('route_health', '')
}

describe('an unreachable provider', () => {
  test('is replaced by the next, skipped by all processes, probed by one call, and recovers', async () => {
    await using other = await startGateway(environment, gateway)
    await first.leave()
    for (let call = 0; call < 5; call += 1) expect(await saidBy()).toBe('second')
    await becomes('first', { openings: 1, reason: '5 failures in a row (not delivered)', isHealthy: false })

    // Both processes skip it although it is reachable again.
    await first.comeBack()
    await expect
      .poll(async () => {
        const before = first.calls
        await other.database.postgres.notify('route_health', '')
        return [await saidBy(other.url), first.calls - before]
      }, often)
      .toEqual(['second', 0])
    expect(await saidBy()).toBe('second')
    expect(first.calls).toBe(0)

    // A failed probe keeps the breaker open longer, and its client still gets a response.
    await first.leave()
    await expect
      .poll(async () => {
        await letTimePass()
        return [await saidBy(), await healthOf('first')]
      }, often)
      .toMatchObject(['second', { openings: 2, isHealthy: false }])
    await first.comeBack()

    const { promise, resolve: release } = Promise.withResolvers<void>()
    first.hold = promise
    await letTimePass()
    const tries: Promise<string>[] = []
    await expect
      .poll(() => {
        tries.push(saidBy(), saidBy(other.url))
        return first.calls
      }, often)
      .toBeGreaterThan(0)
    expect(
      await Promise.all(Array.from({ length: 10 }, (_, at) => saidBy([gateway, other][at % 2]?.url))),
    ).toEqual(Array.from({ length: 10 }, () => 'second'))
    expect(first.calls).toBe(1)
    release()
    expect((await Promise.all(tries)).filter((name) => name === 'first')).toHaveLength(1)
    await becomes('first', { isHealthy: true })
    for (const url of [gateway.url, other.url]) {
      await expect.poll(() => saidBy(url), often).toBe('first')
    }
  })

  test('is neither in the usage record nor in the log', async () => {
    const { postgres } = gateway.database
    const { account, id, text } = await createSpender(postgres, 1)
    await first.leave()
    expect(await (await say({}, gateway.url, { ...key, text })).text()).toBe('second')
    await expect
      .poll(() => meteredRequestsOf(postgres, account))
      .toMatchObject([{ outcome: 'completed', provider: 'second' }])
    const logged = () => postgres.query('select provider from request_log where key_id = $1', [id])
    await expect.poll(async () => (await logged()).rows).toEqual([{ provider: 'second' }])
  })

  test('without an alternative is an error; soon it is no longer called, and the error has a Retry-After', async () => {
    await Promise.all([first.leave(), second.leave()])
    await expect
      .poll(async () => (await ask()).body['error'], { interval: 1 })
      .toMatchObject({ code: 'model_overloaded' })
    await Promise.all([first.comeBack(), second.comeBack()])
    const refused = await ask()
    expectProblem(refused, 'model_overloaded')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(first.calls + second.calls).toBe(0)
  })
})

test.each([401, 500])(
  'a provider that answered %i gets its work back once it is repaired',
  async (status) => {
    first.status = status
    await expect.poll(() => saidBy(), often).toBe('second')
    await expect.poll(async () => (await say()) && (await healthOf('first')), often).toBeDefined()
    first.status = 200
    const calls: string[] = []
    await expect
      .poll(async () => {
        await letTimePass()
        calls.push(await saidBy())
        return calls.at(-1)
      }, often)
      .toBe('first')
    await becomes('first', { isHealthy: true })
  },
)

test('a busy provider is replaced by the next, and not called before its Retry-After', async () => {
  Object.assign(first, { status: 429, headers: { 'retry-after-ms': '300' } })
  while (first.calls < 3) expect(await saidBy()).toBe('second')
  expect(first.shortestGapMs).toBeGreaterThanOrEqual(299)
  first.status = 200
  await expect.poll(() => saidBy(), { interval: 50 }).toBe('first')
  expect(await healthOf('first')).toBeUndefined()
})

test.each([
  [400, 'upstream_error'],
  [500, 'upstream_error'],
] as const)(
  'a request with response %i is not sent to another provider, because it may have been executed',
  async (status, code) => {
    first.status = status
    expectProblem(await ask(), code)
    expect([first.calls, second.calls]).toEqual([1, 0])
  },
)

test('the only provider is retried after a short Retry-After; a longer one is passed to the caller', async () => {
  const toOne = { model: modelOfOne, voice: 'Kore' }
  Object.assign(first, { statusOnce: 503, headers: { 'retry-after-ms': '100' } })
  expect(await (await say(toOne)).text()).toBe('first')
  expect(first.calls).toBe(2)

  Object.assign(first, { status: 429, headers: { 'retry-after': '9' } })
  const refused = await ask(toOne)
  expectProblem(refused, 'model_overloaded')
  expect(refused.headers.get('retry-after')).toBe('9')
  expect(first.calls).toBe(3)
  // The next call is attempted during the Retry-After window.
  first.status = 200
  expect(await (await say(toOne)).text()).toBe('first')
})

test('instructions are sent to providers that follow them, and otherwise reported as ignored', async () => {
  const whisper = { instructions: 'Whisper.' }
  expect((await say(whisper)).headers.get('x-ignored-params')).toBeNull()
  await first.leave()
  const answer = await say(whisper)
  expect(await answer.text()).toBe('second')
  expect(answer.headers.get('x-ignored-params')).toBe('instructions')
})

test('a conversation continues with the provider of the reply it refers to', async () => {
  const talk = (messages: object[]) =>
    askJson(`${gateway.url}/v1/chat/completions`, key.text, {
      ...{ model: talker, messages, modalities: ['text', 'audio'] },
      audio: { voice: 'alloy', format: 'wav' },
    })
  const question = { role: 'user', content: 'How are you?' }
  const [preferred, other] = talkers
  await preferred?.close()
  const { body } = await talk([question])
  const [choice] = body['choices'] as { message: { audio: { id: string } } }[]
  const back = await startVendor({ port: Number(new URL(preferred?.url ?? '').port) })
  talkers.push(back)
  const reply = { role: 'assistant', audio: { id: choice?.message.audio.id } }
  expect((await talk([question, reply, question])).status).toBe(200)
  expect((await talk([question])).status).toBe(200)
  expect([other?.turns().length, back.turns().length]).toEqual([2, 1])
})

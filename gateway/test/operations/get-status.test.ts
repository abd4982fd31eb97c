import { operations } from '@kinora/contract/operations'
import type { ServiceStatus } from '@kinora/contract/operations/status'
import Schema from 'typebox/schema'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { heartbeat } from '../../src/platform/engine/supervise-engine.ts'
import { claimJob } from '../../src/platform/engine/tick-store.ts'
import { recordOpening, recordRecovery } from '../../src/routing/route-health-store.ts'
import { recordStates } from '../../src/status/status-store.ts'
import { ask, askJson } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, startProxy } from '../kit/start-gateway.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startVendorGateway()
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows
const beat = () => claimJob(gateway.database.postgres, heartbeat.loop, heartbeat.key, 0)
beforeEach(async () => {
  await beat()
  await query('delete from route_health')
  await query('delete from service_states')
  await query('delete from service_days')
})

afterEach(() => {
  vi.restoreAllMocks()
})

interface Health {
  state: string
  kinds: { kind: string; state: string; reasons: string[] }[]
  providers: { name: string; unhealthy_models: { model: string }[] }[]
}
const health = () => operator.call('getHealth') as Promise<Health>
const stateOf = async (kind: string) => (await health()).kinds.find((each) => each.kind === kind)
const open = (model: string, openForMs = 60_000) =>
  recordOpening(gateway.database.postgres, {
    ...{ provider: 'vendor', model, openForMs, openings: 1, isUnauthorized: false },
    reason: '5 failures in a row (not delivered)',
  })

describe('200', () => {
  test('JSON for everybody, without a key and without a name of a provider', async () => {
    await open('vidB-2')
    const { status, headers, body } = await ask(`${gateway.url}/status`, undefined)
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 200,
      type: 'application/json; charset=utf-8',
    })
    expect(Schema.Errors(operations.getStatus.answer.schema, body)).toEqual([true, []])
    const { kinds } = body as unknown as ServiceStatus
    expect(kinds.map(({ kind }) => kind)).toEqual(['chat', 'speech', 'transcription', 'video'])
    expect(kinds.at(-1)).toMatchObject({ state: 'degraded', days: [] })
    expect(JSON.stringify(body)).not.toMatch(/vendor|failures|vidB/)
    expect(headers.get('cache-control')).toBe('public, max-age=10')
  })

  test('a page for browsers, without scripts and other origins', async () => {
    const response = await fetch(`${gateway.url}/status`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    const page = await response.text()
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    )
    expect(response.headers.get('vary')).toContain('accept')
    expect(page).toMatch(/<h2>Video<\/h2><span class="state \w+">/)
    expect(page.match(/<i class="unknown"/g)).toHaveLength(4 * 90)
    expect(page).not.toMatch(/<script|<link|style=|http|vendor/)
  })

  test('many requests read the database once in ten seconds', async () => {
    const startMs = performance.now()
    const now = vi.spyOn(performance, 'now').mockReturnValue(startMs + 10_000)
    await ask(`${gateway.url}/status`, undefined)
    await query('delete from service_states')
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => ask(`${gateway.url}/status`, undefined)),
    )
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    // Nothing was observed again, so the responses came from the cache.
    expect(await query('select from service_states')).toEqual([])
    now.mockReturnValue(startMs + 21_000)
    await ask(`${gateway.url}/status`, undefined)
    expect(await query('select from service_states')).toHaveLength(4)
  })

  test('is down while the database is away, with the days that were known', async () => {
    await using proxy = await startProxy(gateway.database.url)
    await using other = await startGateway(
      { DATABASE_URL: proxy.url, DATABASE_CONNECT_TIMEOUT_MS: '1000', DATABASE_STATEMENT_TIMEOUT_MS: '1000' },
      gateway,
    )
    await proxy.cut()
    const { status, body } = await ask(`${other.url}/status`, undefined)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { object: 'status', state: 'down', kinds: [] },
    })
    await proxy.mend()
  })
})

describe('states', () => {
  test('operational, with a worker and without failures', async () => {
    expect(await health()).toMatchObject({
      state: 'operational',
      kinds: [1, 2, 3, 4].map(() => ({ reasons: [] })),
    })
  })

  test('a dead worker is never operational', async () => {
    await query(`update ticks set ticked_at = now() - interval '61 s' where loop = 'engine'`)
    expect(await stateOf('video')).toMatchObject({
      state: 'down',
      reasons: [expect.stringContaining('No worker')],
    })
    expect(await stateOf('transcription')).toMatchObject({ state: 'degraded' })
    expect(await stateOf('speech')).toMatchObject({ state: 'operational' })
    expect((await health()).state).toBe('degraded')
    await query(`delete from ticks where loop = 'engine'`)
    expect(await stateOf('video')).toMatchObject({ state: 'down' })
  })

  test('breakers: open, to be tried again, and recovered', async () => {
    await open('ttsB-3.1-flash-tts-preview')
    const { kinds, providers } = await health()
    const speech = kinds.find(({ kind }) => kind === 'speech')
    expect(speech?.state).not.toBe('operational')
    expect(speech?.reasons[0]).toContain(
      'ttsB-3.1-flash-tts-preview (vendor: 5 failures in a row (not delivered))',
    )
    expect(providers.find(({ name }) => name === 'vendor')).toBeDefined()
    await open('ttsB-3.1-flash-tts-preview', -1)
    await query(`update route_health set open_until = now() - interval '1 s'`)
    expect(await stateOf('speech')).toMatchObject({
      state: 'degraded',
      reasons: [expect.stringContaining('none was made since')],
    })
    await recordRecovery(gateway.database.postgres, 'vendor', 'ttsB-3.1-flash-tts-preview')
    expect(await stateOf('speech')).toMatchObject({ state: 'operational' })
  })

  test('ends of tasks: faults of customers do not count', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres)
    const { text } = await createKey(postgres, accountId)
    const create = async () => {
      const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
      return String((await askJson(`${gateway.url}/v1/videos`, text, order)).body['id'])
    }
    const fail = async (code: 'upstream_error' | 'content_policy_violation' | 'task_cancelled') =>
      endTask(postgres, await create(), { kind: 'failed', code, message: '' })
    for (let count = 0; count < 5; count += 1) await fail('content_policy_violation')
    for (let count = 0; count < 4; count += 1) await fail('upstream_error')
    expect(await stateOf('video')).toMatchObject({ state: 'operational' })
    await fail('upstream_error')
    expect(await stateOf('video')).toMatchObject({
      state: 'down',
      reasons: [/5 of 5 tasks failed/].map((each) => expect.stringMatching(each)),
    })
    await completeTask(gateway, accountId, await create())
    expect(await stateOf('video')).toMatchObject({ state: 'degraded' })
    await query(`update usage_entries set ended_at = ended_at - interval '11 minutes'`)
    expect(await stateOf('video')).toMatchObject({ state: 'operational' })
  })
})

describe('history', () => {
  const observe = (state: 'operational' | 'degraded' | 'down') =>
    recordStates(gateway.database.postgres, [{ kind: 'video', state, reasons: [] }], 60)
  const age = (seconds: number) =>
    query(`update service_states set observed_at = clock_timestamp() - make_interval(secs => $1)`, [seconds])
  /** In units of 15 s, because the test takes time too. */
  const days = () =>
    query(`select floor(observed_seconds / 15) as observed, floor(degraded_seconds / 15) as degraded, floor(down_seconds / 15) as down
             from service_days order by day`)

  test('the time since the last observation counts for the state of then, and a longer gap is unknown', async () => {
    await observe('down')
    expect(await days()).toEqual([])
    await age(15)
    await observe('degraded')
    await age(30)
    await observe('operational')
    expect(await days()).toEqual([{ observed: 3, degraded: 2, down: 1 }])
    await age(3_600)
    await observe('operational')
    expect(await days()).toEqual([{ observed: 7, degraded: 2, down: 1 }])
  })

  test('concurrent observations count the time once', async () => {
    await observe('down')
    await age(20)
    await Promise.all(Array.from({ length: 8 }, () => observe('down')))
    expect(await days()).toEqual([{ observed: 1, degraded: 0, down: 1 }])
  })

  test('a state has its beginning, and a kind that is no longer offered disappears', async () => {
    await observe('down')
    await query(
      `update service_states set since = now() - interval '1 h', observed_at = now() - interval '1 s'`,
    )
    await observe('down')
    const ages = `extract(epoch from now() - since)::int / 600 as tens`
    expect(await query(`select ${ages} from service_states`)).toEqual([{ tens: 6 }])
    await observe('operational')
    expect(await query(`select ${ages} from service_states`)).toEqual([{ tens: 0 }])
    await recordStates(gateway.database.postgres, [{ kind: 'speech', state: 'down', reasons: [] }], 60)
    expect(await query('select kind from service_states')).toEqual([{ kind: 'speech' }])
  })
})

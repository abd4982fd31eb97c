import type { TotalUsageRow } from '@kinora/contract/operations/admin/requests'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createMeter, type Meter } from '../../src/billing/metering/meter.ts'
import { priceOf } from '../../src/billing/prices/price.ts'
import type { PriceRule } from '../../src/models/price-rule.ts'
import { createLog } from '../../src/platform/log.ts'
import { StatementTimeout } from '../../src/platform/postgres-errors.ts'
import { finishTranscription } from '../../src/transcription-tasks/transcription-task-store.ts'
import { failed } from '../../src/transcription-tasks/transcription-task.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { daysAgo, recordingAt } from '../kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let meter: Meter
const costs: PriceRule[] = [{ unit: 'minute', unitMicros: 3_000, resolution: null, sound: null, input: null }]
let operator: TestKey

interface Customer {
  accountId: string
  key: TestKey
  second: TestKey
}
let busy: Customer
let other: Customer

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const create = async ({ text }: TestKey) => {
  const answer = await askJson(`${gateway.url}/v1/videos`, text, order)
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
const customer = async (): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  return {
    accountId,
    key: await createKey(postgres, accountId),
    second: await createKey(postgres, accountId),
  }
}

const speak = async (
  { accountId, key }: Customer,
  outcome: 'completed' | 'aborted' | 'failed',
  used: number,
) => {
  const caller = {
    ...{
      accountId,
      keyId: key.id,
      kind: 'payg' as const,
      scopes: [],
      models: undefined,
      addresses: undefined,
    },
    ...{
      requestsPerMinute: undefined,
      limits: {},
      dialect: 'reference' as const,
      hasQuota: false,
      currency: 'USD',
    },
  }
  const price = (seconds: number) => [priceOf('minute', 6_000, seconds)]
  const metered = await meter.open({
    ...{ caller, operation: 'createTranscription', model: { id: 'asr-1', name: 'asr-1' } },
    ...{ provider: 'local', heldFor: price(90) },
  })
  metered.servedBy({ provider: { name: 'ear' }, costs })
  await metered.settle(outcome, used === 0 ? [] : price(used))
}

/** Tasks and requests of every kind, with every outcome. */
const use = async (of: Customer) => {
  const { postgres } = gateway.database
  await completeTask(gateway, of.accountId, await create(of.key))
  await completeTask(gateway, of.accountId, await create(of.second))
  await endTask(postgres, await create(of.key), { kind: 'failed', code: 'upstream_error', message: 'no' })
  await create(of.key)
  await speak(of, 'completed', 90)
  await speak(of, 'aborted', 30)
  await speak(of, 'failed', 0)
  const owner = { accountId: of.accountId, keyId: of.second.id }
  const done = await recordingAt(postgres, owner, new Date())
  await finishTranscription(postgres, done.day, done.id, { kind: 'completed' }, daysAgo(-7))
  const broken = await recordingAt(postgres, owner, new Date())
  await finishTranscription(postgres, broken.day, broken.id, failed('upstream_error'), daysAgo(-7))
}

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  meter = createMeter({ postgres, log: createLog({ level: 'silent' }, 'test') })
  operator = await createKey(postgres, '', { kind: 'admin' })
  busy = await customer()
  other = await customer()
  await use(busy)
  await use(other)
})
afterAll(async () => {
  await meter.close()
  await gateway[Symbol.asyncDispose]()
})

type Row = Record<string, number | string | null>
const rowsOf = ({ body }: { body: Record<string, unknown> }) => body['data'] as Row[]
const own = (search: string, { text } = busy.key) => ask(`${gateway.url}/v1/usage${search}`, text)
const all = (search: string, { text } = operator) => ask(`${gateway.url}/admin/v1/usage${search}`, text)
const sumOf = (rows: Row[], field: string) => rows.reduce((sum, row) => sum + Number(row[field]), 0)
const captured = async (where = 'true') => {
  const { rows } = await gateway.database.postgres.query<{ micros: number }>(
    `select coalesce(sum(amount_micros), 0) as micros from ledger_entries
      where movement = 'capture' and book = 'revenue' and ${where}`,
  )
  return rows[0]?.micros
}

describe('a key holder', () => {
  test('gets a table without providers and costs', async () => {
    const response = await fetch(`${gateway.url}/v1/usage?group_by=model&format=csv`, {
      headers: { authorization: `Bearer ${busy.key.text}` },
    })
    const text = await response.text()
    expect(text).toMatch(/^period,model,key_id,key_name,account_id,requests,/)
    expect(text).not.toMatch(/provider|cost|margin|ear/)
    expectProblem(await own('?group_by=provider'), 'invalid_parameter', 'group_by')
  })

  test('sees the usage of its key by day by default', async () => {
    const answer = await own('')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      object: 'list',
      data: [
        {
          period: Math.floor(Date.now() / 86_400_000) * 86_400,
          ...{
            model: null,
            key_id: null,
            key_name: null,
            account_id: null,
            requests: 5,
            completed: 2,
            failed: 2,
          },
          captured_micros: expect.any(Number),
          refunded_micros: 0,
          currency: 'USD',
          // Four seconds of video, and two minutes of audio, some of it aborted.
          seconds: String(4 + 90 + 30),
          metadata: null,
        },
      ],
      next: null,
    })
  })

  test('sees the usage of its account on request, and of no other account', async () => {
    const rows = rowsOf(await own('?scope=account&group_by=key,model'))
    expect(new Set(rows.map(({ key_id: id }) => id))).toEqual(new Set([busy.key.id, busy.second.id]))
    expect(rows.every(({ period, account_id: id }) => period === null && id === null)).toBe(true)
    expect(sumOf(rows, 'captured_micros')).toBe(await captured(`account_id = '${busy.accountId}'`))
    const ofSecond = rows.filter(({ key_id: id }) => id === busy.second.id)
    expect(ofSecond).toEqual([
      expect.objectContaining({ model: 'asr-1', requests: 2, completed: 1, failed: 1, seconds: '1' }),
      expect.objectContaining({ model: 'vidB-2', requests: 1, completed: 1, failed: 0, seconds: '4' }),
    ])
  })

  test('without usage gets no rows', async () => {
    const idle = await customer()
    expect(rowsOf(await own('', idle.key))).toEqual([])
  })

  test('keeps its usage when the task is deleted', async () => {
    const tidy = await customer()
    const id = await create(tidy.key)
    await completeTask(gateway, tidy.accountId, id)
    const before = (await own('?group_by=model', tidy.key)).body
    const deleted = await ask(`${gateway.url}/v1/videos/${id}`, tidy.key.text, { method: 'DELETE' })
    expect(deleted.status).toBe(200)
    expect((await own('?group_by=model', tidy.key)).body).toEqual(before)
  })

  test('can read usage without a balance', async () => {
    const { postgres } = gateway.database
    const broke = await createAccount(postgres, { balance: 0 })
    const key = await createKey(postgres, broke, { quotaMicros: 0 })
    expect((await own('', key)).status).toBe(200)
  })

  test.each([
    ['group_by', '?group_by=account'],
    ['group_by', '?group_by=day,colour'],
    ['scope', '?scope=everybody'],
    ['from', `?from=0&to=${93 * 86_400}`],
    ['to', '?from=2000&to=1000'],
    ['to', '?to=soon'],
    ['to', '?to=999999999999999'],
  ])('400 invalid_parameter: %s in %s', async (param, search) => {
    expectProblem(await own(search), 'invalid_parameter', param)
  })
})

describe('an operator', () => {
  test.each(['hour', 'day', 'model', 'key', 'account', 'hour,model', 'day,model,key,account'])(
    'sees by %s exactly what the ledger took',
    async (groups) => {
      const rows = rowsOf(await all(`?group_by=${groups}`))
      expect(sumOf(rows, 'captured_micros')).toBe(await captured())
      const names = { model: 'model', key: 'key_id', account: 'account_id' }
      for (const [group, field] of Object.entries(names)) {
        const isGiven = groups.split(',').includes(group)
        expect(rows.every((row) => (row[field] !== null) === isGiven)).toBe(true)
      }
      const fields = ['period', 'model', 'key_id', 'account_id'] as const
      const keys = rows.map((row) => fields.map((field) => row[field]).join())
      expect(new Set(keys).size).toBe(rows.length)
    },
  )

  test('sees hourly usage that matches the ledger', async () => {
    const { postgres } = gateway.database
    // Moves some to other hours, in the ledger and in the usage alike.
    await postgres.query(
      `update usage_entries set ended_at = ended_at - interval '3 hours', day = (ended_at at time zone 'utc' - interval '3 hours')::date
        where account_id = $1`,
      [other.accountId],
    )
    await postgres.query(
      `update ledger_entries set created_at = created_at - interval '3 hours' where account_id = $1`,
      [other.accountId],
    )
    const { rows } = await postgres.query<{ period: number; micros: number }>(
      `select extract(epoch from date_trunc('hour', created_at, 'utc'))::bigint as period,
              sum(amount_micros)::bigint as micros
         from ledger_entries where movement = 'capture' and book = 'revenue' group by 1 order by 1`,
    )
    const usage = rowsOf(await all('?group_by=hour')).filter(({ captured_micros: micros }) => micros !== 0)
    expect(usage.map(({ period, captured_micros: micros }) => ({ period, micros }))).toEqual(rows)
    const [hour] = rows
    const within = `?group_by=account&from=${hour?.period}&to=${Number(hour?.period) + 3600}`
    expect(sumOf(rowsOf(await all(within)), 'captured_micros')).toBe(hour?.micros)
  })

  test('sees what providers charge, and the margin where that is known', async () => {
    const rows = rowsOf(await all('?group_by=provider')) as unknown as TotalUsageRow[]
    const ear = rows.find(({ provider }) => provider === 'ear')
    expect(ear).toMatchObject({ provider: 'ear', unknown_costs: 0 })
    // It costs half of the price.
    expect(2 * (ear?.cost_micros ?? 0)).toBe(ear?.captured_micros)
    expect(ear?.margin_micros).toBe((ear?.captured_micros ?? 0) - (ear?.cost_micros ?? 0))
    const local = rows.find(({ provider }) => provider === 'local')
    expect(local).toMatchObject({ cost_micros: null, margin_micros: null })
    expect(local?.unknown_costs).toBeGreaterThan(0)
  })

  test('gets a table of comma-separated values with the same rows', async () => {
    const search = '?group_by=day,model,provider'
    const rows = rowsOf(await all(search)) as unknown as Record<string, string | number | null>[]
    const response = await fetch(`${gateway.url}/admin/v1/usage${search}&format=csv`, {
      headers: { authorization: `Bearer ${operator.text}` },
    })
    expect(response.headers.get('content-type')).toContain('text/csv')
    const [header = '', ...lines] = (await response.text()).trimEnd().split('\r\n')
    const names = header.split(',')
    expect(names.toSorted()).toEqual(Object.keys(rows[0] ?? {}).toSorted())
    expect(lines).toEqual(rows.map((row) => names.map((name) => String(row[name] ?? '')).join(',')))
  })

  test('filters by account, key or model', async () => {
    const ofAccount = rowsOf(await all(`?account_id=${busy.accountId}&group_by=account`))
    expect(ofAccount.map(({ account_id: id }) => id)).toEqual([busy.accountId])
    const ofKey = rowsOf(await all(`?key_id=${busy.second.id}&group_by=key`))
    expect(ofKey).toEqual([expect.objectContaining({ key_id: busy.second.id, requests: 3 })])
    const ofModel = rowsOf(await all(`?model=asr-1&account_id=${busy.accountId}&group_by=model`))
    expect(ofModel).toEqual([expect.objectContaining({ model: 'asr-1', requests: 5 })])
  })

  test.each([
    ['group_by', '?group_by=vendor'],
    ['account_id', '?account_id=me'],
    ['key_id', '?key_id=1'],
    ['from', `?from=0&to=${93 * 86_400}`],
  ])('400 invalid_parameter: %s in %s', async (param, search) => {
    expectProblem(await all(search), 'invalid_parameter', param)
  })

  test('gets an error for a query that takes too long', async () => {
    const { postgres } = gateway.database
    const search = postgres.transaction((database) => database.query('select pg_sleep($1)', [30]), {
      statementTimeoutMs: 50,
    })
    await expect(search).rejects.toBeInstanceOf(StatementTimeout)
    // The connection works as before, without the timeout.
    expect((await postgres.query('select pg_sleep($1)', [0.1])).rows).toHaveLength(1)
  })

  test('needs an operator key', async () => {
    expectProblem(await all('', busy.key), 'access_denied')
  })
})

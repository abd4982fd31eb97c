/** Budgets of providers per day: what counts, what stops, and who learns of it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { heartbeat } from '../../src/platform/engine/supervise-engine.ts'
import { claimJob } from '../../src/platform/engine/tick-store.ts'
import { ask, askJson, expectProblem, form, type Answer } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { vendorKey } from '../kit/vendor-gateway.ts'

const single = 'vidB-2'
const routed = 'vidB-2-pro'
const voice = 'chat-4o-mini-tts-2025-12-15'
/** A video of four seconds. */
const costMicros = 400_000

let vendor: Vendor
let gateway: TestGateway
let directory: string
let operator: Operator
let accountId: string
let key: string

beforeAll(async () => {
  vendor = await startVendor({ apiKey: vendorKey })
  directory = await mkdtemp(join(tmpdir(), 'kinora-budgets-'))
  const file = join(directory, 'providers.yaml')
  const provider = { kind: 'openai', baseUrl: vendor.url, apiKey: vendorKey }
  const costs = [{ unit: 'second', micros: 100_000 }]
  const models = {
    [single]: { routes: [{ provider: 'acme', costs }] },
    [routed]: {
      routes: [
        { provider: 'acme', costs },
        { provider: 'spare', order: 2, costs },
      ],
    },
    'asr-1': { routes: [{ provider: 'acme', costs: [{ unit: 'minute', micros: 100_000 }] }] },
    [voice]: {
      routes: [{ provider: 'acme', costs: [{ unit: 'million_characters', micros: 100_000_000_000 }] }],
    },
    'ttsB-3.1-flash-tts-preview': { routes: [{ provider: 'acme' }] },
  }
  await writeFile(file, JSON.stringify({ providers: { spare: provider, acme: provider }, models }))
  gateway = await startGateway({ PROVIDERS_FILE: file })
  const { postgres } = gateway.database
  operator = await createOperator(gateway)
  accountId = await createAccount(postgres, { balance: 100_000 })
  key = (await createKey(postgres, accountId)).text
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await vendor.close()
  await rm(directory, { recursive: true, force: true })
})

const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows
const setBudget = (budgetMicros: number | undefined, stops = true) =>
  operator.call('setProvider', {
    id: 'acme',
    body: {
      kind: 'openai',
      base_url: vendor.url,
      ...(budgetMicros !== undefined && { budget_per_day_micros: budgetMicros, budget_stops: stops }),
    },
  })
const provider = () => operator.call('getProvider', { id: 'acme' })
const spendOf = async () => (await provider()).spend as Record<string, unknown>
/** What other tasks have cost today. */
const spend = async (micros: number) => {
  await query(
    `insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                                prices)
     values ((now() at time zone 'utc')::date, gen_random_uuid()::text, now(), gen_random_uuid(), gen_random_uuid(), 'm',
             'completed', 1, 'acme', $1, '[]')`,
    [micros],
  )
  await provider()
}
const create = (model: string): Promise<Answer> =>
  askJson(`${gateway.url}/v1/videos`, key, { model, prompt: 'A whale', seconds: 4, size: '480x480' })
const createTask = async (model = single) => {
  const { status, body } = await create(model)
  expect(status).toBe(200)
  return String(body['id'])
}
const speak = async (): Promise<Answer> => {
  const { status, headers, ...response } = await fetch(`${gateway.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: voice, voice: 'nova', input: 'Hello.' }),
  }).then(async (answer) => ({
    ...{ status: answer.status, headers: answer.headers, bytes: await answer.bytes() },
  }))
  const text = status === 200 ? '{}' : Buffer.from(response.bytes).toString()
  return { status, headers, body: JSON.parse(text) as Answer['body'] }
}
const beat = () => claimJob(gateway.database.postgres, heartbeat.loop, heartbeat.key, 0)
const statusOfRefused = async () => {
  await expect.poll(async () => (await create(single)).status).toBe(503)
  return create(single)
}

beforeEach(async () => {
  await setBudget(undefined)
  await query('delete from usage_entries')
  await query('delete from provider_spend')
  await query('delete from open_tasks')
})

describe('what counts', () => {
  test('a completed task once, a failed one not, and a refund changes nothing', async () => {
    await setBudget(100_000_000, false)
    const [done, failed] = [await createTask(), await createTask()]
    await expect.poll(spendOf).toMatchObject({ spent_micros: 0, committed_micros: 0 })
    // The first is with the provider.
    await query(`update open_tasks set stage = 'waiting' where task_id = $1`, [done])
    await expect.poll(spendOf).toMatchObject({ committed_micros: costMicros })
    await completeTask(gateway, accountId, done)
    await endTask(gateway.database.postgres, failed, {
      kind: 'failed',
      code: 'upstream_error',
      message: 'no',
    })
    const spent = { spent_micros: costMicros, committed_micros: 0, state: 'within' }
    await expect.poll(spendOf).toMatchObject(spent)
    await operator.call('createRefund', { id: done, body: { reason: 'a bad video' } })
    await expect.poll(spendOf).toMatchObject(spent)
  })

  test('a call once, at its actual cost', async () => {
    await setBudget(100_000_000)
    expect((await speak()).status).toBe(200)
    await expect.poll(async () => (await spendOf())['spent_micros']).toBe(6 * 100_000)
    await expect.poll(spendOf).toMatchObject({ committed_micros: 0 })
  })

  test('a model without costs counts nothing, and is named', async () => {
    await setBudget(100_000_000)
    // Until the first count, which another process may have begun, there is no spend.
    await expect.poll(spendOf).toMatchObject({ models_without_costs: ['ttsB-3.1-flash-tts-preview'] })
  })

  test('without a budget, nothing is counted', async () => {
    await completeTask(gateway, accountId, await createTask())
    await expect(provider()).resolves.toMatchObject({ spend: null, budget_per_day_micros: null })
    expect(await query('select from provider_spend')).toEqual([])
  })
})

describe('an alert', () => {
  test('at 80 percent, and nothing stops without budget_stops', async () => {
    await setBudget(costMicros, false)
    await spend(costMicros * 0.8)
    await expect.poll(spendOf).toMatchObject({ state: 'alert', is_stopped: false })
    await spend(costMicros)
    await expect.poll(spendOf).toMatchObject({ state: 'spent', is_stopped: false })
    await createTask()
  })
})

describe('a stop', () => {
  test('a create without another route is 503, and tells customers neither why nor where', async () => {
    await setBudget(costMicros)
    await spend(costMicros)
    const refused = await statusOfRefused()
    expectProblem(refused, 'model_overloaded')
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(JSON.stringify(refused.body)).not.toMatch(/acme|spare|budget|spen[dt]|cost/i)
    const id = refused.headers.get('x-request-id') ?? ''
    const explain = async () => JSON.stringify((await operator.ask('explainTask', { id })).body)
    await expect.poll(explain).toContain('Providers whose budget of the day is spent now: acme.')
    const spoken = await speak()
    expectProblem(spoken, 'model_overloaded')
    expect(JSON.stringify(spoken.body)).not.toMatch(/acme|spare|budget|spen[dt]|cost/i)
    const fields = { model: 'asr-1', file: new Blob(['not read']) }
    const body = form(fields)
    expectProblem(
      await ask(`${gateway.url}/v1/audio/transcription-tasks`, key, { method: 'POST', body }),
      'model_overloaded',
    )
    await expect.poll(spendOf).toMatchObject({ state: 'spent', is_stopped: true })
  })

  test('with another route, work goes there, and the decision says why', async () => {
    await setBudget(costMicros)
    await spend(costMicros)
    await statusOfRefused()
    const id = await createTask(routed)
    expect(await query('select provider, decision from open_tasks where task_id = $1', [id])).toMatchObject([
      {
        provider: 'spare',
        decision: { skipped: [{ provider: 'acme', reason: 'its budget of the day is spent' }] },
      },
    ])
  })

  test('a raised budget, and the next day, let work return', async () => {
    await setBudget(costMicros)
    await spend(costMicros)
    await statusOfRefused()
    await setBudget(3 * costMicros)
    await expect.poll(async () => (await create(single)).status).toBe(200)
    await spend(3 * costMicros)
    await statusOfRefused()
    await query('update provider_spend set day = day - 1')
    await query(`update usage_entries set day = day - 1, ended_at = ended_at - interval '1 day'`)
    await query('delete from open_tasks')
    await expect.poll(async () => (await create(single)).status).toBe(200)
  })

  test('operators see it in the health of the service and at the task', async () => {
    const waiting = await createTask()
    await setBudget(costMicros)
    await spend(costMicros)
    await statusOfRefused()
    await beat()
    const reasons = async () => {
      const { kinds } = await operator.call('getHealth')
      return kinds.find(({ kind }: { kind: string }) => kind === 'video').reasons.join(' ')
    }
    await expect.poll(reasons).toContain(`${single} (acme: its budget of the day is spent)`)
    const health = await operator.call('getHealth')
    expect(health.providers).toContainEqual(
      expect.objectContaining({ name: 'acme', spend: expect.objectContaining({ is_stopped: true }) }),
    )
    const explained = await operator.call('explainTask', { id: waiting })
    expect(explained.cause).toEqual({
      code: 'budget_spent',
      text: expect.stringContaining('the budget of its provider is spent for today'),
    })
    expect(explained.fix).toContain('budget_per_day_micros')
  })
})

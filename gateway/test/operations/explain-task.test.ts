/** What operators are told about tasks that fail in each of the ways in which tasks fail. */
import type { TaskExplanation } from '@kinora/contract/operations/admin/task-explanations'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { heartbeat } from '../../src/platform/engine/supervise-engine.ts'
import { claimJob } from '../../src/platform/engine/tick-store.ts'
import { createLog } from '../../src/platform/log.ts'
import type { ProviderConfig } from '../../src/provider-config/config.ts'
import { beginStep } from '../../src/tasks/run-store.ts'
import { settleTranscription } from '../../src/transcription-tasks/lifecycle/settle-transcription.ts'
import { insertSegments, postponeSegment } from '../../src/transcription-tasks/segments/segment-store.ts'
import { failed, transcriptionTables } from '../../src/transcription-tasks/transcription-task.ts'
import { recordOutcome } from '../../src/videos/open-task-store.ts'
import { carriedVideos } from '../../src/videos/queue/carried-task-store.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { recordingAt } from '../kit/expired.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'
import { startVendorWorker } from '../kit/vendor-worker.ts'

const log = createLog({ level: 'silent' }, 'test')
const model = 'vidB-2'

let gateway: VendorGateway
let operator: Operator
let key: TestKey
let accountId: string

beforeAll(async () => {
  gateway = await startVendorGateway()
  const { postgres } = gateway.database
  operator = await createOperator(gateway)
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows

const startWorker = (given: Partial<ProviderConfig> = {}, apiKey = vendorKey) =>
  startVendorWorker(gateway, given, apiKey)

const create = async (prompt = 'A whale') => {
  const order = { model, prompt, seconds: 4, size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  return String(body['id'])
}
const beat = () => claimJob(gateway.database.postgres, heartbeat.loop, heartbeat.key, 0)
const explain = async (id: string): Promise<TaskExplanation> => {
  await beat()
  return operator.call('explainTask', { id }) as Promise<TaskExplanation>
}

/** Each sentence is in the answer, and the cause and the fix match. */
const expectCause = (
  { cause, fix, sentences }: TaskExplanation,
  code: string,
  [text, remedy]: [RegExp, RegExp],
) => {
  expect(cause).toEqual({ code, text: expect.stringMatching(text) })
  expect(fix).toMatch(remedy)
  expect(sentences).toEqual(expect.arrayContaining([cause.text, `What to do: ${fix}`]))
  expect(sentences.join(' ')).not.toMatch(/undefined|null|NaN|whale/)
}

const released = { captured_micros: 0, refunded_micros: 0, cost_micros: null, currency: 'USD' }

test('a task that waits, and one that is running, have no fault', async () => {
  await using worker = await startWorker()
  const id = await create()
  expectCause(await explain(id), 'queued', [/waits in the queue/, /Wait/])
  await worker.submit(id)
  const running = await explain(id)
  expect(running).toMatchObject({
    status: 'processing',
    cause: { code: 'running' },
    fix: null,
    stages: [{ name: 'queue' }, { name: 'submit' }, { name: 'provider', ended_at: null }],
    attempts: [
      { provider: 'vendor', outcome: 'accepted', route_reason: 'the only route', failure_reason: null },
    ],
    money: { captured_micros: null },
  })
  expect(running.sentences.join('\n')).toContain('Attempt 1: vendor (the only route) accepted the job.')
})

test('a completed task: times of every stage, and the money', async () => {
  await using worker = await startWorker()
  const id = await create('A whale vendor:duration=0ms')
  await worker.submit(id)
  const [{ upstream } = {}] = await query('select upstream from open_tasks where task_id = $1', [id])
  await query(`update open_tasks set cost_micros = 123456 where task_id = $1`, [id])
  await recordOutcome(gateway.database.postgres, id, { kind: 'done', result: upstream })
  expect(await worker.settle(id)).toMatchObject({ kind: 'completed' })
  const explained = await explain(id)
  expect(explained).toMatchObject({ status: 'completed', cause: { code: 'completed' }, fix: null })
  expect(explained.stages.map(({ name }) => name)).toEqual(['queue', 'submit', 'provider', 'store'])
  expect(explained.stages.every(({ ended_at: end, duration_ms: ms }) => end !== null && ms >= 0)).toBe(true)
  expect(explained.sentences.at(-1)).toMatch(
    /^0\.\d\d USD was held, and 0\.\d\d USD was charged\. It costs 0\.123456 USD/,
  )
})

describe('names the cause and the fix of', () => {
  test('a failure of the provider, with its message', async () => {
    await using worker = await startWorker()
    const id = await create('A whale vendor:reject=server_error')
    await worker.submit(id)
    const explained = await explain(id)
    expectCause(explained, 'provider_failed', [
      /vendor failed .* The reason: /,
      /retry the task with `kinora tasks retry \S+` or POST .*\/retry/,
    ])
    const reason = explained.attempts[0]?.failure_reason?.replace(/\.$/, '') ?? ''
    expect(reason).not.toBe('')
    expect(explained.sentences.filter((each) => each.includes(reason))).toEqual([explained.cause.text])
    expect(explained).toMatchObject({
      status: 'failed',
      error_code: 'upstream_error',
      attempts: [{ outcome: 'rejected', failure_reason: expect.any(String) }],
      money: released,
    })
  })

  test('a wrong API key of the vendor, while the task waits and after its deadline', async () => {
    await using worker = await startWorker({}, 'wrong-key')
    const id = await create()
    await worker.submit(id)
    const remedy = /PUT \/admin\/v1\/providers\/vendor/
    expectCause(await explain(id), 'credential_refused', [/refuses our API key/, remedy])
    await worker.end(id)
    const explained = await explain(id)
    expectCause(explained, 'credential_refused', [/refuses our API key/, /retry the task/])
    expect(explained).toMatchObject({ error_code: 'task_timeout', attempts: [{ outcome: 'unauthorized' }] })
    await query('delete from route_health')
  })

  test('an open breaker, although the provider never had the task', async () => {
    await using worker = await startWorker()
    const id = await create()
    for (let count = 0; count < 5; count += 1) worker.router.report('vendor', model, 'not_delivered')
    await expect.poll(() => query('select from route_health')).toHaveLength(1)
    const expected: [RegExp, RegExp] = [
      /circuit breaker .*: 5 failures in a row/,
      /providers\/\{name\}\/test/,
    ]
    expectCause(await explain(id), 'breaker_open', expected)
    await worker.end(id)
    await query('delete from route_health')
    const explained = await explain(id)
    expectCause(explained, 'breaker_open', expected)
    expect(explained).toMatchObject({ attempts: [], stages: [{ name: 'queue' }], money: released })
  })

  test('the deadline', async () => {
    await using worker = await startWorker()
    const id = await create('A whale vendor:never')
    await worker.submit(id)
    await worker.end(id)
    expectCause(await explain(id), 'deadline', [
      /accepted the work and did not finish it/,
      /TASK_DEADLINE_SECONDS/,
    ])
  })

  test('the deadline of a task for which no slot was free', async () => {
    await using worker = await startWorker()
    const id = await create()
    await worker.end(id)
    expectCause(await explain(id), 'queue_full', [/never submitted/, /slots/])
  })

  test('a cancel by the customer and one by an operator', async () => {
    const [ours, theirs] = [await create(), await create()]
    await ask(`${gateway.url}/v1/videos/${theirs}/cancel`, key.text, { method: 'POST' })
    await operator.ask('cancelTask', { id: ours })
    expectCause(await explain(theirs), 'cancelled', [/The customer cancelled/, /Nothing/])
    expectCause(await explain(ours), 'cancelled', [/An operator cancelled/, /audit-log/])
  })

  test('too little money, by the id of the request', async () => {
    const { postgres } = gateway.database
    const poor = await createKey(postgres, await createAccount(postgres, { balance: 0 }))
    const order = { model, prompt: 'A whale', seconds: 4, size: '480x480' }
    const { headers } = await askJson(`${gateway.url}/v1/videos`, poor.text, order)
    const id = headers.get('x-request-id') ?? ''
    await expect.poll(async () => (await operator.ask('explainTask', { id })).status).toBe(200)
    const explained = await explain(id)
    expectCause(explained, 'insufficient_funds', [/balance is too low/, /Top up .*\/top-ups/])
    expect(explained).toMatchObject({ kind: 'request', status: 'rejected', money: null, stages: [] })
  })

  test('moderation', async () => {
    await using worker = await startWorker()
    const id = await create('A whale vendor:reject=moderation_blocked')
    await worker.submit(id)
    const explained = await explain(id)
    expect(explained.error_code).toBe('content_policy_violation')
    expectCause(explained, 'moderated', [/because of its content/, /customer must change/])
  })

  test('a download that fails, while it is repeated and at the deadline', async () => {
    await using worker = await startWorker()
    const id = await create('A whale vendor:duration=0ms')
    await worker.submit(id)
    const [{ upstream } = {}] = await query('select upstream from open_tasks where task_id = $1', [id])
    await recordOutcome(gateway.database.postgres, id, { kind: 'done', result: upstream })
    gateway.vendor.faults.fault = 'garbage@downloadxall'
    await worker.settle(id)
    expectCause(await explain(id), 'download_failed', [
      /could not be downloaded.*failed: 1/,
      /repeated until/,
    ])
    await worker.end(id)
    gateway.vendor.faults.fault = ''
    const explained = await explain(id)
    expectCause(explained, 'download_failed', [/not a playable video/, /video\.store-failed/])
    expect(explained.stages.at(-1)).toMatchObject({ name: 'store' })
  })

  test('a result that our media store does not take, and a task that does not end at its deadline', async () => {
    await using worker = await startWorker()
    const id = await create('A whale vendor:duration=0ms')
    await worker.submit(id)
    const [{ upstream } = {}] = await query('select upstream from open_tasks where task_id = $1', [id])
    await recordOutcome(gateway.database.postgres, id, { kind: 'done', result: upstream })
    expect((await explain(id)).cause.code).toBe('running')
    await query(`update open_tasks set outcome_at = now() - interval '2 minutes' where task_id = $1`, [id])
    expectCause(await explain(id), 'download_failed', [/is not downloaded and stored yet/, /has space/])
    await query(`update open_tasks set deadline_at = now() - interval '10 minutes' where task_id = $1`, [id])
    expectCause(await explain(id), 'engine_lost', [/at its deadline, 10 min ago/, /kinora engine check/])
    await worker.end(id)
  })

  test('a submit with an unknown outcome, while it can be decided and at the deadline', async () => {
    const protocolSettings = { idempotentSubmits: false, lookup: false }
    await using worker = await startWorker({ protocolSettings })
    const id = await create('A whale vendor:drop-reply')
    await worker.submit(id)
    const expected: [RegExp, RegExp] = [/was lost.*unknown whether/, /console of the vendor/]
    const open = await explain(id)
    expectCause(open, 'unknown_outcome', expected)
    expect(open.fix).toContain(`/admin/v1/tasks/${id}/resolve`)
    await worker.end(id)
    expectCause(await explain(id), 'unknown_outcome', expected)
  })

  test('a run that the engine lost, and an engine that no worker reaches', async () => {
    await using worker = await startWorker()
    const id = await create()
    await query(`update open_tasks set stage = 'starting', run = 1 where task_id = $1`, [id])
    expectCause(await explain(id), 'engine_lost', [/lost the run/, /kinora engine check/])
    const [renewed] = await carriedVideos(gateway.database.postgres).renew([{ taskId: id, run: 1 }])
    expect(renewed).toBeDefined()
    await query(`delete from ticks where loop = $1 and key = $2`, [heartbeat.loop, heartbeat.key])
    const without = (await operator.call('explainTask', { id })) as TaskExplanation
    expectCause(without, 'engine_lost', [/No worker has reached Restate/, /Start the workers/])
    await worker.end(id)
    expectCause(await explain(id), 'engine_lost', [/1 times so far/, /engine check/])
  })
})

describe('of a provider with a budget', () => {
  const budget = { micros: 1_000, alertPercent: 80, alertMicros: 800, stops: true }
  afterEach(() => query(`delete from usage_entries where id = 'spent'`))
  const spend = () =>
    query(
      `insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                                  prices)
       values ((now() at time zone 'utc')::date, 'spent', now(), gen_random_uuid(), gen_random_uuid(), 'm', 'completed', 1,
               'vendor', 1000, '[]')`,
    )
  const stateOf = async (id: string) =>
    (await query('select stage, submits from open_tasks where task_id = $1', [id]))[0]

  test('that is spent: the task waits and is not submitted', async () => {
    const id = await create()
    await spend()
    await using worker = await startWorker({ budget })
    await worker.submit(id)
    expect(await stateOf(id)).toEqual({ stage: 'accepted', submits: 0 })
    const explained = await explain(id)
    expectCause(explained, 'budget_spent', [/budget of its provider is spent/, /budget_per_day_micros/])
    await worker.end(id)
    expectCause(await explain(id), 'budget_spent', [/budget of its provider is spent/, /retry/])
  })
})

describe('of a transcription', () => {
  const recording = async () => {
    const { postgres } = gateway.database
    const task = await recordingAt(postgres, { accountId, keyId: key.id }, new Date())
    await insertSegments(postgres, task, [{ n: 0, startMs: 0, endMs: 1_000, transcript: null }], true)
    await query(`update open_transcriptions set stage = 'starting', run = 1 where task_id = $1`, [task.id])
    await beginStep(postgres, transcriptionTables, { taskId: task.id, run: 1 })
    return task.id
  }
  const settle = (id: string, ending: ReturnType<typeof failed>) =>
    settleTranscription(
      {
        ...{ postgres: gateway.database.postgres, mediaStore: gateway.mediaStore, log },
        retentionMsOf: async () => 60_000,
        wakeDispatcher: () => {},
      },
      id,
      ending,
    )

  test('that failed: what the provider said', async () => {
    const id = await recording()
    expect(await explain(id)).toMatchObject({ cause: { code: 'running' }, attempts: [] })
    const failure = { provider: 'vendor', kind: 'rejected', reason: 'no such model' } as const
    await settle(id, { ...failed('upstream_error'), failure })
    const explained = await explain(id)
    expectCause(explained, 'provider_failed', [/no such model/, /send the recording again/])
    expect(explained.stages.map(({ name }) => name)).toEqual(['queue', 'transcribe'])
  })

  test('that reached its deadline: the last request that failed', async () => {
    const id = await recording()
    const failure = { provider: 'vendor', kind: 'busy', reason: 'answered 429' } as const
    await postponeSegment(gateway.database.postgres, id, 0, { isRefusal: true, waitMs: 1, failure })
    await settle(id, failed('task_timeout'))
    expectCause(await explain(id), 'provider_busy', [/answered 429/, /slots/])
  })
})

test('404 for another id, and for a request that was not rejected', async () => {
  for (const id of ['nonsense', 'req_nonsense']) {
    expectProblem(await operator.ask('explainTask', { id }), 'task_not_found')
  }
  const { headers } = await ask(`${gateway.url}/v1/models`, key.text)
  const id = headers.get('x-request-id') ?? ''
  await expect
    .poll(async () => JSON.stringify((await operator.ask('explainTask', { id })).body))
    .toContain('It was not rejected')
})

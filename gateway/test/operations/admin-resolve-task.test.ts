/** A task whose submit has an unknown outcome: what its customer sees, and what an operator can decide. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { waitForDeadline } from '../../src/videos/lifecycle/submit-store.ts'
import { ask, expectProblem } from '../kit/answers.ts'
import { createKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startWebhookGateway, type WebhookGateway } from '../kit/webhook-gateway.ts'

let gateway: WebhookGateway
let operator: Operator

beforeAll(async () => {
  const routes = [
    { provider: 'queue', order: 1 },
    { provider: 'other', order: 2 },
  ]
  gateway = await startWebhookGateway({ 'vidB-2': { routes } })
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows

/** A task whose provider did not respond to the submit. */
const lost = async () => {
  const taskId = await gateway.create()
  await query(
    `update open_tasks set stage = 'submitting', run = 1, submits = 1, outcome_unknown_since = now() where task_id = $1`,
    [taskId],
  )
  await waitForDeadline(gateway.database.postgres, { taskId, run: 1 })
  return taskId
}
const read = async (taskId: string, path = `/v1/videos/${taskId}`) =>
  (await ask(`${gateway.url}${path}`, gateway.key)).body
const open = async (taskId: string) =>
  (
    await query(
      `select stage, provider, upstream, tried_providers as tried, outcome_unknown_since as unknown, decision
         from open_tasks where task_id = $1`,
      [taskId],
    )
  )[0]
const heldMicros = async () =>
  (await query('select held_micros from balances where account_id = $1', [gateway.accountId]))[0]?.[
    'held_micros'
  ]
const audited = (taskId: string) =>
  query('select before, after from audit_log where target = $1 order by sequence', [taskId])
const resolve = async (taskId: string, action: string) => {
  const { status, body } = await operator.ask('resolveTask', { id: taskId, body: { action } })
  expect(status).toBe(200)
  return body
}
const isCancelled = (jobId: string) =>
  expect.poll(() => gateway.requests).toContain(`PUT /maker/film/requests/${jobId}/cancel`)

describe('the customer', () => {
  test('sees that the response was lost and until when the task waits, and nothing about the provider', async () => {
    const taskId = await lost()
    const [row] = await query(
      'select extract(epoch from deadline_at)::float8 as until from open_tasks where task_id = $1',
      [taskId],
    )
    const notice = { code: 'response_lost', until: Math.floor(Number(row?.['until'])) }
    const paths = [`/v1/videos/${taskId}`, `/v1/video/query?id=${taskId}`, `/openai/v1/videos/${taskId}`]
    for (const path of paths) {
      const task = await read(taskId, path)
      expect(task).toMatchObject({ notice })
      expect(JSON.stringify(task)).not.toMatch(/queue"|maker|127\.0\.0\.1/)
    }
  })

  test('sees no such notice while the task waits for a slot, is submitted, or has a job', async () => {
    const taskId = await gateway.create()
    expect(await read(taskId)).not.toHaveProperty('notice')
    await query(
      `update open_tasks set stage = 'submitting', outcome_unknown_since = now() where task_id = $1`,
      [taskId],
    )
    expect(await read(await lost())).toHaveProperty('notice')
    const other = await gateway.create()
    await query(
      `update open_tasks set stage = 'submitting', outcome_unknown_since = now() where task_id = $1`,
      [other],
    )
    expect(await read(other)).not.toHaveProperty('notice')
    const found = await lost()
    await gateway.deliver(gateway.webhookOf(found, 'job-of-found'))
    expect(await read(found)).not.toHaveProperty('notice')
  })
})

describe('fail', () => {
  test('ends the task, releases the hold once and writes one audit entry, however often it is requested', async () => {
    const before = await heldMicros()
    const taskId = await lost()
    const answers = await Promise.all([1, 2, 3].map(() => resolve(taskId, 'fail')))
    for (const task of answers) {
      expect(task).toMatchObject({ status: 'failed', error: { code: 'upstream_error' }, captured_micros: 0 })
    }
    expect(await heldMicros()).toBe(before)
    expect(await audited(taskId)).toEqual([
      { before: { status: 'pending', provider: 'queue' }, after: { action: 'fail', status: 'failed' } },
    ])
    expect(await resolve(taskId, 'retry')).toMatchObject({ status: 'failed' })
  })

  test('a job that appears afterwards is cancelled at the provider, and costs nothing', async () => {
    const taskId = await lost()
    await resolve(taskId, 'fail')
    expect(await gateway.deliver(gateway.webhookOf(taskId, 'job-too-late'))).toMatchObject({ status: 200 })
    await isCancelled('job-too-late')
    expect(await read(taskId)).toMatchObject({ status: 'failed' })
    expect(
      await query(`select from ledger_entries where task_id = $1 and movement = 'capture'`, [taskId]),
    ).toEqual([])
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('has no effect if the job appeared before', async () => {
    const taskId = await lost()
    await gateway.deliver(gateway.webhookOf(taskId, 'job-in-time'))
    for (const action of ['fail', 'retry']) {
      expect(await resolve(taskId, action)).toMatchObject({ status: 'processing', provider: 'queue' })
    }
    expect(await audited(taskId)).toEqual([])
    expect(await open(taskId)).toMatchObject({ upstream: gateway.refOf('job-in-time') })
  })
})

describe('retry', () => {
  test('gives the task to another route once, with the same hold', async () => {
    const taskId = await lost()
    const before = await heldMicros()
    const answers = await Promise.all([1, 2, 3].map(() => resolve(taskId, 'retry')))
    for (const task of answers) expect(task).toMatchObject({ status: 'pending', provider: 'other' })
    expect(await open(taskId)).toMatchObject({
      ...{ stage: 'accepted', provider: 'other', tried: ['queue'], unknown: null },
      decision: { provider: 'other', skipped: [{ provider: 'queue', reason: 'refused it already' }] },
    })
    expect(await heldMicros()).toBe(before)
    expect(await audited(taskId)).toEqual([
      { before: { status: 'pending', provider: 'queue' }, after: { action: 'retry', provider: 'other' } },
    ])
    expect(await read(taskId)).not.toHaveProperty('notice')
  })

  test('a job that appears afterwards is a duplicate, which is cancelled and not shown', async () => {
    const taskId = await lost()
    await resolve(taskId, 'retry')
    await gateway.deliver(gateway.webhookOf(taskId, 'job-of-the-first'))
    await isCancelled('job-of-the-first')
    expect(await open(taskId)).toMatchObject({ stage: 'accepted', provider: 'other', upstream: null })
    const attempts = await query(
      'select provider, is_duplicate as "isDuplicate" from task_attempts where task_id = $1',
      [taskId],
    )
    expect(attempts).toEqual([{ provider: 'queue', isDuplicate: true }])
  })

  test('without another route is a conflict that changes nothing', async () => {
    const taskId = await lost()
    await resolve(taskId, 'retry')
    await query(`update open_tasks set stage = 'waiting', outcome_unknown_since = now() where task_id = $1`, [
      taskId,
    ])
    await query(`update video_tasks set video_order = video_order || '{"remixOf": {}}' where id = $1`, [
      taskId,
    ])
    expectProblem(await operator.ask('resolveTask', { id: taskId, body: { action: 'retry' } }), 'conflict')
    expect(await open(taskId)).toMatchObject({ stage: 'waiting', provider: 'other' })
  })
})

test('a submit in progress is a conflict', async () => {
  const taskId = await gateway.create()
  await query(
    `update open_tasks set stage = 'submitting', outcome_unknown_since = now() where task_id = $1`,
    [taskId],
  )
  for (const action of ['fail', 'retry']) {
    expectProblem(await operator.ask('resolveTask', { id: taskId, body: { action } }), 'conflict')
  }
})

test('another action, an unknown task and a key without the role are rejected', async () => {
  const taskId = await lost()
  expectProblem(
    await operator.ask('resolveTask', { id: taskId, body: { action: 'ignore' } }),
    'invalid_parameter',
    'action',
  )
  expectProblem(
    await operator.ask('resolveTask', { id: 'nothing', body: { action: 'fail' } }),
    'task_not_found',
  )
  const reader = await createKey(gateway.database.postgres, '', { kind: 'admin', role: 'read' })
  const other = await createOperator(gateway, reader)
  expectProblem(await other.ask('resolveTask', { id: taskId, body: { action: 'fail' } }), 'access_denied')
})

/** The overview of a database whose facts are known. */
import { randomUUID } from 'node:crypto'

import { adminOperations } from '@kinora/contract/admin-operations'
import type { Attention, Overview } from '@kinora/contract/operations/admin/overview'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { acceptedAt } from '../kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

let gateway: TestGateway
let operator: Operator
let accountId: string
let key: TestKey
let expiring: TestKey
let endpointId: string
let overview: Overview

const query = (text: string, values?: unknown[]) => gateway.database.postgres.query(text, values)
const minutesAgo = (count: number) => new Date(Date.now() - count * 60_000)
const owner = () => ({ accountId, keyId: key.id })

/** A task that ended just now, and was created so long before. */
const ended = async (minutes: number, isCompleted: boolean) => {
  const { id } = await acceptedAt(gateway.database.postgres, owner(), minutesAgo(minutes))
  if (isCompleted) await completeTask(gateway, accountId, id)
  else {
    const failure = { kind: 'failed', code: 'upstream_error', message: 'It broke.' } as const
    await endTask(gateway.database.postgres, id, failure)
  }
  return id
}

const logRequest = (status: number, provider: string | null, count = 1) =>
  query(
    `insert into request_log (day, id, at, account_id, key_id, operation, method, path, status, error_code, provider,
                              duration_ms, address)
     select (now() at time zone 'utc')::date, 'req_' || gen_random_uuid(), now(), $1, $2, 'createSpeech', 'POST',
            '/v1/audio/speech', $3::smallint, case when $3 >= 400 then 'upstream_error' end, $4, 800, '127.0.0.1'
       from generate_series(1, $5)`,
    [accountId, key.id, status, provider, count],
  )

const logAttempt = (outcome: string) =>
  query(
    `insert into task_attempts (day, task_id, attempt, provider, upstream_model, started_at, outcome)
     values ((now() at time zone 'utc')::date, $1, 1, 'local', 'm', now() - interval '200 milliseconds', $2)`,
    [randomUUID(), outcome],
  )

const attentionOf = (code: Attention['code']) => overview.attention.filter((each) => each.code === code)

beforeAll(async () => {
  gateway = await withoutIntervals(() => startGateway())
  const { postgres } = gateway.database
  operator = await createOperator(gateway)
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
  expiring = await createKey(postgres, accountId, { expiresAt: new Date(Date.now() + 3 * 86_400_000) })
  await createKey(postgres, accountId, { expiresAt: new Date(Date.now() + 30 * 86_400_000) })

  await ended(2, true)
  await ended(4, true)
  await ended(3, false)
  const old = await ended(5, true)
  await query(`update usage_entries set ended_at = now() - interval '2 hours' where id = $1`, [old])
  await query(`update usage_entries set provider = 'local', captured_micros = 400, cost_micros = 100`)

  const waiting = await acceptedAt(postgres, owner(), minutesAgo(20))
  const running = await acceptedAt(postgres, owner(), minutesAgo(1))
  await query(`update open_tasks set provider = 'local' where task_id = any($1)`, [[waiting.id, running.id]])
  await query(`update open_tasks set accepted_at = now() - interval '20 minutes' where task_id = $1`, [
    waiting.id,
  ])
  await query(`update open_tasks set stage = 'waiting', outcome_unknown_since = now() where task_id = $1`, [
    running.id,
  ])

  await logRequest(200, null, 3)
  await logRequest(200, 'local', 2)
  await logRequest(502, 'local')
  await logRequest(404, null, 2)
  await logAttempt('accepted')
  await logAttempt('busy')
  await logAttempt('rejected')

  endpointId = uuidV7()
  await query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret, disabled_at, disabled_reason)
     values ($1, $2, 'account', 'https://hooks.example', '{video.completed}', '\\x00', now(), 'failing')`,
    [endpointId, accountId],
  )
  await query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret, failures, failing_since)
     select gen_random_uuid(), $1, 'account', 'https://hooks.example', '{video.completed}', '\\x00', 3,
            now() - make_interval(mins => minutes)
       from unnest(array[10, 90]) as minutes`,
    [accountId],
  )
  await query(
    `insert into webhook_deliveries (day, id, account_id, endpoint_id, event_id, type, object_id, occurred_at, state,
                                     next_attempt_at, ended_at)
     select (now() at time zone 'utc')::date, gen_random_uuid(), $1, $2, 'evt', 'video.completed', 'video', now(), 'failed',
            now(), now() from generate_series(1, 3)`,
    [accountId, endpointId],
  )
  await query(
    `insert into ledger_audits (checked_at, duration_ms, findings, full_audit_at, full_audit_findings)
     values (now() - interval '1 hour', 5, $1, now(), '[]')`,
    [JSON.stringify([{ invariant: 'holds', violations: 2, examples: [], meaning: 'Holds are right.' }])],
  )
  overview = await operator.call('getOverview')
})
afterAll(() => gateway[Symbol.asyncDispose]())

describe('200', () => {
  test('counts the work in progress and the longest wait', () => {
    expect(overview).toMatchObject({ object: 'overview', running: 1, queued: 1 })
    expect(overview.slots).toBeGreaterThan(0)
    expect(overview.oldest_wait_seconds).toBeGreaterThanOrEqual(20 * 60)
  })

  test('counts what ended within the last hour', () => {
    expect(overview.last_hour).toMatchObject({ completed: 2, failed: 1, requests: 8 })
    expect(overview.last_hour).toMatchObject({ client_errors: 2, server_errors: 1 })
    expect(overview.last_hour.error_rate).toBeCloseTo(1 / 3)
  })

  test('sums up the money of the day', () => {
    const { completed, failed } = overview.today
    expect(overview.spend).toMatchObject({
      charged_micros: 400 * (completed + failed),
      cost_micros: 100 * (completed + failed),
      ...{ unknown_costs: 0, budget_micros: null, currency: 'USD' },
    })
  })

  test('has the time from request to video, now and over a day without gaps', () => {
    const { p50_ms: p50, p95_ms: p95, completed, series } = overview.time_to_video
    expect(completed).toBe(2)
    expect(Math.round((p50 ?? 0) / 60_000)).toBeGreaterThanOrEqual(2)
    expect(Math.round((p95 ?? 0) / 60_000)).toBeGreaterThanOrEqual(4)
    expect(series).toHaveLength(288)
    expect(series.reduce((sum, step) => sum + step.completed, 0)).toBe(3)
    expect(series.reduce((sum, step) => sum + step.failed, 0)).toBe(1)
    for (const [index, { at }] of series.entries()) expect(at).toBe((series[0]?.at ?? 0) + index * 300)
  })

  test('has the load and the last 60 minutes of a provider', () => {
    const local = overview.providers.find(({ name }) => name === 'local')
    expect(local).toMatchObject({
      kind: 'local',
      enabled: true,
      running: 1,
      queued: 1,
      completed: 2,
      failed: 1,
    })
    expect(local?.breaker).toEqual({ state: 'closed', models: [], reason: null, until: null })
    expect(local?.minutes).toHaveLength(60)
    const minutes = local?.minutes.filter(({ requests }) => requests > 0) ?? []
    // Three attempts, three synchronous calls, and the task that failed.
    expect(minutes.reduce((sum, { requests }) => sum + requests, 0)).toBe(7)
    expect(minutes.reduce((sum, { errors }) => sum + errors, 0)).toBe(3)
    expect(minutes.some(({ state }) => state === 'failing')).toBe(true)
    expect(local?.minutes.filter(({ state }) => state === 'none')).toHaveLength(60 - minutes.length)
  })

  test('knows how much media is stored', () => {
    expect(overview.storage).toMatchObject({ objects: 3, size_bytes: 3_000 })
  })
})

describe('what needs attention', () => {
  test('comes with severity, runbook and an operation of this API', () => {
    expect(attentionOf('task_waiting_long')).toEqual([
      {
        code: 'task_waiting_long',
        severity: 'page',
        title: expect.stringMatching(/^A task for local waits for \d+ min$/),
        text: expect.stringContaining('1 task is in a queue'),
        since: expect.any(Number),
        subject: { type: 'provider', id: 'local' },
        count: 1,
        runbook_url: expect.stringMatching(/\/docs\/runbooks\/oldest-task-waiting\.md$/),
        link: '/admin/v1/tasks?status=pending&provider=local',
      },
    ])
    const paths = Object.values(adminOperations).map(
      ({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
    )
    for (const { link } of overview.attention) {
      if (link !== null) expect(paths.some((path) => path.test(link.split('?')[0] ?? ''))).toBe(true)
    }
  })

  test.each<[Attention['code'], Partial<Attention>]>([
    ['worker_not_seen', { severity: 'page', since: null }],
    ['ledger_violation', { severity: 'page', count: 2 }],
    ['ledger_audit_late', { severity: 'page' }],
    ['submits_unknown', { severity: 'ticket', count: 1 }],
    ['webhook_endpoint_failing', { severity: 'notice', count: 1 }],
    ['webhook_endpoint_disabled', { severity: 'notice', count: 1 }],
    ['webhook_deliveries_failed', { severity: 'notice', count: 3 }],
  ])('has %s', (code, expected) => {
    expect(attentionOf(code)).toEqual([expect.objectContaining(expected)])
  })

  test('has keys that expire within a week, and no others', () => {
    expect(attentionOf('key_expires')).toEqual([
      expect.objectContaining({ count: 1, subject: { type: 'key', id: expiring.id } }),
    ])
  })

  test('is sorted by severity', () => {
    const order = ['page', 'ticket', 'notice']
    const found = overview.attention.map(({ severity }) => order.indexOf(severity))
    expect(found).toEqual(found.toSorted((a, b) => a - b))
  })
})

test('requests at the same time get the same overview', async () => {
  const all = await Promise.all(Array.from({ length: 5 }, () => operator.call('getOverview')))
  for (const each of all) expect(each).toEqual(all[0])
})

/** The deliveries of a task's events, which the database creates in the transaction that records the event. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { acceptedAt, daysAgo, recordingAt } from '../../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../../test/kit/factories.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { markProcessing } from '../../tasks/task-store.ts'
import { finishTranscription } from '../../transcription-tasks/transcription-task-store.ts'
import { recordPolls } from '../../videos/polling/poll-store.ts'
import { videoTables } from '../../videos/task.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(text, values)).rows

const createOwner = async () => {
  const accountId = await createAccount(database.postgres)
  return { accountId, keyId: (await createKey(database.postgres, accountId)).id }
}

const addEndpoint = async (accountId: string, events: string[], kind: 'account' | 'task' = 'account') => {
  const id = uuidV7()
  await query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret)
     values ($1, $2, $3, 'https://example.com', $4, case when $3 = 'account' then ''::bytea end)`,
    [id, accountId, kind, events],
  )
  return id
}

const deliveriesOf = (taskId: string) =>
  query<{ endpoint: string; type: string; state: string; url: string | null; event: string }>(
    `select endpoint_id as endpoint, type, state, url, event_id as event from webhook_deliveries
      where object_id = $1 order by id`,
    [taskId],
  )

const typesOf = async (taskId: string) =>
  (await deliveriesOf(taskId)).map(({ type, state }) => `${type} ${state}`)

const fail = (taskId: string) =>
  endTask(database.postgres, taskId, { kind: 'failed', code: 'upstream_error', message: '' })

const report = (task: { id: string; day: string }, progress: number) =>
  recordPolls(database.postgres, [
    { taskId: task.id, day: task.day, nextPollMs: 1_000, progress, outcome: null },
  ])

test('each endpoint of the account gets the events that it wants, and no other account does', async () => {
  const owner = await createOwner()
  const all = await addEndpoint(owner.accountId, ['video.processing', 'video.failed'])
  const ends = await addEndpoint(owner.accountId, ['video.completed', 'video.failed'])
  const disabled = await addEndpoint(owner.accountId, ['video.failed'])
  await query(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'customer' where id = $1`,
    [disabled],
  )
  await addEndpoint((await createOwner()).accountId, ['video.processing', 'video.failed'])
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  await markProcessing(database.postgres, videoTables, [task])
  await fail(task.id)
  const deliveries = await deliveriesOf(task.id)
  expect(deliveries.map(({ endpoint, type }) => `${endpoint} ${type}`).toSorted()).toEqual(
    [`${all} video.failed`, `${all} video.processing`, `${ends} video.failed`].toSorted(),
  )
  const [first, second] = deliveries.filter(({ type }) => type === 'video.failed')
  expect(first?.event).toMatch(/^evt_[0-9a-f]{32}$/)
  expect(second?.event).toBe(first?.event)
})

test('progress counts when it passes a multiple of ten, and replaces what was not delivered', async () => {
  const owner = await createOwner()
  await addEndpoint(owner.accountId, ['video.progress', 'video.failed'])
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  await markProcessing(database.postgres, videoTables, [task])
  for (const progress of [4, 9, 10, 14, 19, 31, 35, 39, 40]) await report(task, progress)
  expect(await typesOf(task.id)).toEqual([
    'video.progress replaced',
    'video.progress replaced',
    'video.progress pending',
  ])
  await query(
    `update webhook_deliveries set claimed_until = now() + interval '1 minute' where object_id = $1`,
    [task.id],
  )
  await fail(task.id)
  expect(await typesOf(task.id)).toEqual([
    'video.progress replaced',
    'video.progress replaced',
    'video.progress pending',
    'video.failed pending',
  ])
})

test('an event never waits for the lock of a delivery that it would replace', async () => {
  const owner = await createOwner()
  await addEndpoint(owner.accountId, ['video.progress'])
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  await markProcessing(database.postgres, videoTables, [task])
  await report(task, 10)
  await database.postgres.transaction(async (within) => {
    await within.query('select from webhook_deliveries where object_id = $1 for update', [task.id])
    await report(task, 20)
  })
  expect(await typesOf(task.id)).toEqual(['video.progress pending', 'video.progress pending'])
})

test('the webhook of a create gets the events that it names, at its URL', async () => {
  const owner = await createOwner()
  const endpoint = await addEndpoint(owner.accountId, [], 'task')
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  const webhook = { endpoint, url: 'https://example.com/done?task=1', events: ['video.failed'] }
  await query('update video_tasks set webhook = $2 where id = $1', [task.id, JSON.stringify(webhook)])
  await markProcessing(database.postgres, videoTables, [task])
  await fail(task.id)
  expect(await deliveriesOf(task.id)).toMatchObject([
    { endpoint, type: 'video.failed', url: 'https://example.com/done?task=1', state: 'pending' },
  ])
})

test('a transcription task has events', async () => {
  const owner = await createOwner()
  await addEndpoint(owner.accountId, ['transcription_task.completed', 'transcription_task.processing'])
  const { id, day } = await recordingAt(database.postgres, owner, daysAgo(0))
  await finishTranscription(database.postgres, day, id, { kind: 'completed' }, new Date())
  expect(await typesOf(id)).toEqual(['transcription_task.completed pending'])
})

test('an event that is rolled back is not delivered', async () => {
  const owner = await createOwner()
  await addEndpoint(owner.accountId, ['video.processing'])
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  await database.postgres
    .transaction(async (within) => {
      await markProcessing(within, videoTables, [task])
      throw new Error('lost')
    })
    .catch(() => undefined)
  expect(await deliveriesOf(task.id)).toEqual([])
})

test('workers are told of the endpoints with the commit', async () => {
  const owner = await createOwner()
  const endpoint = await addEndpoint(owner.accountId, ['video.processing'])
  const told: (string | undefined)[] = []
  const listening = await database.postgres.listen('webhook_deliveries', (id) => told.push(id))
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  await markProcessing(database.postgres, videoTables, [task])
  await expect.poll(() => told).toContain(endpoint)
  await listening.stop()
})

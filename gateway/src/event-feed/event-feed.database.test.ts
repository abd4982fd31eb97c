/** The order of the feed while transactions commit in any order: no event is missing, and none comes twice. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { acceptedAt, daysAgo } from '../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../test/kit/factories.ts'
import { recordAccountEvent } from '../events/account-event-store.ts'
import type { Database } from '../platform/postgres.ts'
import { recordPolls } from '../videos/polling/poll-store.ts'
import {
  findFeedChanges,
  findFeedEnd,
  readFeed,
  readFeedDelay,
  renewEventGeneration,
  type FeedPosition,
} from './event-feed-store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(text, values)).rows

const days = 30
const record = (within: Database, accountId: string, objectId: string) =>
  recordAccountEvent(within, { accountId, type: 'character.created', objectId, data: { id: objectId } })

/** A transaction that has recorded an event and stays open until it is committed. */
const openTransaction = async (accountId: string, objectId: string) => {
  const { promise: released, resolve: commit } = Promise.withResolvers<void>()
  const { promise: hasWritten, resolve: onWritten } = Promise.withResolvers<void>()
  const ended = database.postgres.transaction(async (within) => {
    await record(within, accountId, objectId)
    onWritten()
    await released
  })
  await hasWritten
  return async () => {
    commit()
    await ended
  }
}

/** Reads like a client that remembers its position. */
const createReader = (accountId: string | undefined, limit = 100) => {
  let after: FeedPosition | undefined
  const read: string[] = []
  return {
    read,
    next: async () => {
      const page = await readFeed(database.postgres, days, {
        accountId,
        after,
        order: 'asc',
        type: undefined,
        limit,
      })
      after = page.at(-1) ?? after
      read.push(...page.map(({ objectId }) => objectId))
      return page
    },
  }
}

test('an event that is committed late comes before those that were delayed for it, and nothing comes twice', async () => {
  const accountId = await createAccount(database.postgres)
  const reader = createReader(accountId)
  await record(database.postgres, accountId, 'before')
  await expect.poll(async () => (await reader.next(), reader.read)).toEqual(['before'])
  const since = await findFeedEnd(database.postgres)
  const commit = await openTransaction(accountId, 'late')
  await record(database.postgres, accountId, 'early')
  await reader.next()
  expect(reader.read).toEqual(['before'])
  expect(await findFeedChanges(database.postgres, since.position)).toMatchObject({ hasPending: true })
  expect(await readFeedDelay(database.postgres)).toBeGreaterThan(0)
  await commit()
  await expect.poll(async () => (await reader.next(), reader.read)).toEqual(['before', 'late', 'early'])
  await reader.next()
  expect(reader.read).toHaveLength(3)
  const changes = await findFeedChanges(database.postgres, since.position)
  expect(changes.accountIds).toContain(accountId)
  expect((await findFeedChanges(database.postgres, undefined)).accountIds).toEqual([])
})

test('of many transactions that commit in any order, a reader gets each event once', async () => {
  const accountId = await createAccount(database.postgres)
  const reader = createReader(accountId, 3)
  const names: string[] = []
  for (let round = 0; round < 30; round += 1) {
    const commits: (() => Promise<void>)[] = []
    for (let index = 0; index < 4; index += 1) {
      const name = `object ${names.length}`
      names.push(name)
      commits.push(await openTransaction(accountId, name))
    }
    const [first, second, third, fourth] = commits
    const orders = [
      [fourth, first, third, second],
      [second, fourth, first, third],
    ]
    for (const commit of orders[round % 2] ?? []) {
      await commit?.()
      await reader.next()
    }
  }
  await expect.poll(async () => (await reader.next(), reader.read.length)).toBe(names.length)
  expect(reader.read.toSorted()).toEqual(names.toSorted())
})

test('the feed has the events of tasks that webhooks have, with the same ids, and accounts see their own', async () => {
  const { postgres } = database
  const createOwner = async () => {
    const accountId = await createAccount(postgres)
    return { accountId, keyId: (await createKey(postgres, accountId)).id }
  }
  const [owner, other] = [await createOwner(), await createOwner()]
  await query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret)
     values ($1, $2, 'account', 'https://example.com', '{video.progress,video.failed}', '')`,
    [randomUUID(), owner.accountId],
  )
  const task = await acceptedAt(postgres, owner, daysAgo(0))
  for (const progress of [4, 12, 17, 31])
    await recordPolls(postgres, [
      { taskId: task.id, day: task.day, nextPollMs: 1_000, progress, outcome: null },
    ])
  await endTask(postgres, task.id, { kind: 'failed', code: 'upstream_error', message: '' })
  await record(postgres, other.accountId, 'of another account')
  const read = (accountId: string | undefined, order: 'asc' | 'desc', type?: string) =>
    readFeed(postgres, days, { accountId, after: undefined, order, type, limit: 1_000 })
  await expect.poll(async () => (await read(other.accountId, 'asc')).length).toBe(1)
  const events = await read(owner.accountId, 'asc')
  expect(events.map(({ type, data }) => [type, (data as { progress?: number }).progress])).toEqual([
    ['video.progress', 12],
    ['video.progress', 31],
    ['video.failed', 31],
  ])
  expect(await read(owner.accountId, 'desc')).toEqual(events.toReversed())
  expect((await read(owner.accountId, 'desc', 'video.failed')).map(({ type }) => type)).toEqual([
    'video.failed',
  ])
  const delivered = await query<{ id: string }>(
    'select event_id as id from webhook_deliveries where account_id = $1 order by occurred_at, id',
    [owner.accountId],
  )
  expect(delivered.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
  const all = await read(undefined, 'asc')
  expect(all.map(({ accountId }) => accountId)).toEqual(
    expect.arrayContaining([owner.accountId, other.accountId]),
  )
  expect((await read(undefined, 'desc'))[0]?.objectId).toBe('of another account')
})

test('events of an account are delivered to the endpoints that want them, with their data', async () => {
  const accountId = await createAccount(database.postgres)
  const wanting = randomUUID()
  for (const [id, events] of [
    [wanting, '{character.created,key.expiring}'],
    [randomUUID(), '{video.failed}'],
  ])
    await query(
      `insert into webhook_endpoints (id, account_id, kind, url, events, secret)
       values ($1, $2, 'account', 'https://example.com', $3, '')`,
      [id, accountId, events],
    )
  await record(database.postgres, accountId, 'it')
  const key = {
    accountId,
    type: 'key.expiring',
    objectId: 'key',
    data: { id: 'key', name: 'a name' },
  } as const
  await recordAccountEvent(database.postgres, key)
  const deliveries = await query(
    'select endpoint_id, type, object_id, data from webhook_deliveries where account_id = $1 order by id',
    [accountId],
  )
  expect(deliveries).toEqual([
    // It is read when it is sent.
    { endpoint_id: wanting, type: 'character.created', object_id: 'it', data: null },
    { endpoint_id: wanting, type: 'key.expiring', object_id: 'key', data: key.data },
  ])
})

test('after a restore into another cluster, whose transaction ids are lower, a reader continues where it was', async () => {
  const accountId = await createAccount(database.postgres)
  const reader = createReader(accountId)
  await record(database.postgres, accountId, 'before')
  // As if the cluster had counted far.
  await query(`update account_events set position = position + 1000000 where account_id = $1`, [accountId])
  expect(await renewEventGeneration(database.postgres)).toBe(false)
  await query(`update event_generation set history = 'of another cluster'`)
  expect(await renewEventGeneration(database.postgres)).toBe(true)
  expect(await renewEventGeneration(database.postgres)).toBe(false)
  await expect.poll(async () => (await reader.next(), reader.read)).toEqual(['before'])
  await record(database.postgres, accountId, 'after')
  await expect.poll(async () => (await reader.next(), reader.read)).toEqual(['before', 'after'])
})

test('a new generation waits for open transactions that have written events', async () => {
  const accountId = await createAccount(database.postgres)
  const reader = createReader(accountId)
  const commit = await openTransaction(accountId, 'of the old generation')
  await query(`alter function renew_event_generation() set lock_timeout = '60s'`)
  await query(`update event_generation set history = 'of another cluster'`)
  const renewed = renewEventGeneration(database.postgres)
  await expect
    .poll(
      async () =>
        (
          await query(
            `select from pg_locks where not granted and relation = 'task_events'::regclass or not granted and relation = 'account_events'::regclass`,
          )
        ).length,
    )
    .toBeGreaterThan(0)
  await commit()
  expect(await renewed).toBe(true)
  await record(database.postgres, accountId, 'of the new one')
  await expect
    .poll(async () => (await reader.next(), reader.read))
    .toEqual(['of the old generation', 'of the new one'])
})

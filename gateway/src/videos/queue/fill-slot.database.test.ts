/** Which ends of tasks wake a dispatcher. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { createLog } from '../../platform/log.ts'
import { createFillSlot } from './fill-slot.ts'

const log = createLog({ level: 'silent' }, 'test')
let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

/** Adds a task that may start from then on. */
const enqueue = (provider: string, startsInSeconds: number) =>
  database.postgres.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at, not_before, deadline_at)
     select $1, current_date, gen_random_uuid(), gen_random_uuid(), 4, $2, 'any', 0, at, at, at + interval '1 day'
       from (select now() + make_interval(secs => $3) as at) as given`,
    [randomUUID(), provider, startsInSeconds],
  )

test('the end of a task wakes the dispatcher of its provider if a task waits there that could start', async () => {
  const woken: string[] = []
  const fillSlot = createFillSlot({
    database: database.postgres,
    wakeDispatcher: (provider) => woken.push(provider),
    stopping: new AbortController().signal,
    log,
  })
  await enqueue('waited', -60)
  await enqueue('returned', 60)
  for (const provider of ['empty', 'returned', 'waited']) fillSlot(provider)
  await expect.poll(() => woken).toEqual(['waited'])
})

test('a task that was accepted a moment ago wakes the dispatcher only if it still waits', async () => {
  const woken: string[] = []
  const fillSlot = createFillSlot({
    database: database.postgres,
    wakeDispatcher: (provider) => woken.push(provider),
    stopping: new AbortController().signal,
    log,
  })
  await enqueue('new', 0)
  fillSlot('new')
  await expect.poll(() => woken).toEqual(['new'])
})

test('the dispatcher is woken if nobody knows whether a task waits', async () => {
  const woken: string[] = []
  const fillSlot = createFillSlot({
    database: { query: () => Promise.reject(new Error('the database is down')) },
    wakeDispatcher: (provider) => woken.push(provider),
    stopping: new AbortController().signal,
    log,
  })
  fillSlot('any')
  await expect.poll(() => woken).toEqual(['any'])
})

test('a worker that stops wakes the dispatcher instead of asking later', async () => {
  const woken: string[] = []
  const stop = new AbortController()
  const fillSlot = createFillSlot({
    database: database.postgres,
    wakeDispatcher: (provider) => woken.push(provider),
    stopping: stop.signal,
    log,
  })
  stop.abort()
  fillSlot('any')
  expect(woken).toEqual(['any'])
})

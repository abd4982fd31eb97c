/** What watching tasks costs the database, and that no watcher misses an event when notifications or reads are lost. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { createLog } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { createFollow } from './follow-task.ts'
import type { TaskEvent } from './task-event-store.ts'

const lookEveryMs = 5_000
const day = new Date().toISOString().slice(0, 10)
const log = createLog({ level: 'silent' }, 'test')

let shared: TestDatabase
let nextTask = 0

beforeAll(async () => {
  shared = await createDatabase()
})
afterAll(() => shared[Symbol.asyncDispose]())
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => vi.useRealTimers())

const newTask = () => ({ id: `watched-${(nextTask += 1)}`, day })

const addEvent = (taskId: string, id: number, kind: TaskEvent['kind'] = 'progress') =>
  shared.postgres.query(
    'insert into task_events (day, task_id, id, kind, data) values ($1, $2, $3, $4, $5)',
    [day, taskId, id, kind, { progress: id }],
  )

/** Watchers of one process, whose statements are counted and may fail. */
const startProcess = async () => {
  const statements = { looks: 0, looksEnded: 0, reads: 0, readsEnded: 0, tasksRead: 0 }
  let failing: 'look' | 'read' | undefined
  const held = new Map<'look' | 'read', Promise<void>>()
  let notify: (ids: string[]) => void = () => undefined
  const database: Database = {
    query: (text, values = []) => {
      const isLook = text.includes('pg_snapshot_xmin')
      statements[isLook ? 'looks' : 'reads'] += 1
      if (!isLook) statements.tasksRead += (values[1] as string[]).length
      const statement = isLook ? 'look' : 'read'
      const isFailing = failing === statement
      if (isFailing) failing = undefined
      const hold = held.get(statement)
      held.delete(statement)
      const answer = async () => {
        // What it reads, it reads before it is held.
        const result = isFailing ? undefined : await shared.postgres.query(text, values)
        await hold
        if (result === undefined) throw new Error('failure of the test')
        return result
      }
      return answer().finally(() => {
        statements[isLook ? 'looksEnded' : 'readsEnded'] += 1
      }) as never
    },
  }
  const pubsub = {
    publish: () => undefined,
    subscribe: async (onNotification: (ids: string[]) => void) => {
      notify = onNotification
      return { stop: async () => undefined }
    },
  }
  const { watch, follow, stop } = await createFollow(database, pubsub, log)
  return {
    ...{ watch, follow, stop, statements },
    notify: (ids: string[]) => notify(ids),
    /** Until all reads that were requested have ended. */
    untilRead: () => expect.poll(() => statements.reads - statements.readsEnded).toBe(0),
    /** Holds the response to the next statement until the returned function is called. */
    holdNext: (statement: 'look' | 'read') => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(statement, promise)
      return resolve
    },
    failNext: (statement: 'look' | 'read') => {
      failing = statement
    },
    /** Lets the interval pass, and waits until the statement that looks for changes has ended. */
    look: async () => {
      const { looksEnded } = statements
      vi.advanceTimersByTime(lookEveryMs)
      await expect.poll(() => statements.looksEnded).toBe(looksEnded + 1)
    },
    [Symbol.asyncDispose]: stop,
  }
}

const watchOne = (process: Awaited<ReturnType<typeof startProcess>>, afterId = 0) => {
  const task = newTask()
  const received: number[] = []
  const end = process.watch(task, afterId, ({ id }) => received.push(id))
  return { ...task, received, end }
}

test('3,000 watched tasks that do not change cost one statement per interval', async () => {
  await using process = await startProcess()
  for (let count = 0; count < 3_000; count += 1) watchOne(process)
  const last = watchOne(process)
  // The first look makes sure that none was missed before it.
  await process.look()
  await addEvent(last.id, 1)
  process.notify([last.id])
  await expect.poll(() => last.received).toEqual([1])
  await process.untilRead()
  const before = { ...process.statements }
  for (let times = 0; times < 5; times += 1) await process.look()
  expect(process.statements.looks - before.looks).toBe(5)
  // Each may find the change of before once more, while a transaction of another test is older than it.
  expect(process.statements.tasksRead - before.tasksRead).toBeLessThanOrEqual(5)
})

test('a process in which nobody watches does not look', async () => {
  await using process = await startProcess()
  watchOne(process).end()
  vi.advanceTimersByTime(10 * lookEveryMs)
  expect(process.statements.looks).toBe(0)
})

test('an event without a notification is found by the next look, also that of an older transaction', async () => {
  await using process = await startProcess()
  const [first, second] = [watchOne(process), watchOne(process)]
  await process.look()
  const { promise: isCommitted, resolve: commit } = Promise.withResolvers<void>()
  const { promise: hasWritten, resolve: onWritten } = Promise.withResolvers<void>()
  const older = shared.postgres.transaction(async (within) => {
    await within.query(
      `insert into task_events (day, task_id, id, kind, data) values ($1, $2, 1, 'progress', '{}')`,
      [day, first.id],
    )
    onWritten()
    await isCommitted
  })
  await hasWritten
  await addEvent(second.id, 1)
  await process.look()
  await expect.poll(() => second.received).toEqual([1])
  await process.look()
  commit()
  await older
  await process.look()
  await expect.poll(() => first.received).toEqual([1])
  expect(second.received).toEqual([1])
})

test('every watcher gets each event after its own once, in order, although a read and a look fail', async () => {
  await using process = await startProcess()
  const watched = watchOne(process)
  const later: number[] = []
  process.watch(watched, 2, ({ id }) => later.push(id))
  await process.look()
  await process.untilRead()
  for (let id = 1; id <= 3; id += 1) await addEvent(watched.id, id)
  process.failNext('look')
  await process.look()
  // The second look finds the events, but they are not read.
  process.failNext('read')
  const { reads } = process.statements
  await process.look()
  await expect.poll(() => process.statements.readsEnded).toBe(reads + 1)
  expect([watched.received, later]).toEqual([[], []])
  await process.look()
  await expect.poll(() => [watched.received, later]).toEqual([[1, 2, 3], [3]])
})

test('a read that fails while a look is under way is made again', async () => {
  await using process = await startProcess()
  const watched = watchOne(process)
  await process.look()
  await process.untilRead()
  await addEvent(watched.id, 1, 'completed')
  process.failNext('read')
  const failRead = process.holdNext('read')
  await process.look()
  const endLook = process.holdNext('look')
  const { looks, readsEnded } = process.statements
  vi.advanceTimersByTime(lookEveryMs)
  expect(process.statements.looks).toBe(looks + 1)
  failRead()
  await expect.poll(() => process.statements.readsEnded).toBe(readsEnded + 1)
  endLook()
  await expect.poll(() => process.statements.looksEnded).toBe(looks + 1)
  await process.look()
  await expect.poll(() => watched.received).toEqual([1])
})

test('a watcher that comes during a read for another one gets the earlier events too', async () => {
  await using process = await startProcess()
  const watched = watchOne(process, 2)
  await process.untilRead()
  for (let id = 1; id <= 3; id += 1) await addEvent(watched.id, id)
  const endRead = process.holdNext('read')
  process.notify([watched.id])
  const { reads } = process.statements
  const later: number[] = []
  process.watch(watched, 0, ({ id }) => later.push(id))
  expect(process.statements.reads).toBe(reads)
  endRead()
  await expect.poll(() => [watched.received, later]).toEqual([[3], [1, 2, 3]])
})

test('after a loss of the connection for notifications, one statement finds what has changed', async () => {
  await using process = await startProcess()
  const watched = Array.from({ length: 50 }, () => watchOne(process))
  const [changed] = watched
  if (changed === undefined) throw new Error('nothing is watched')
  await process.look()
  await process.untilRead()
  await addEvent(changed.id, 1)
  const { looks } = process.statements
  process.notify([])
  await expect.poll(() => changed.received).toEqual([1])
  expect(process.statements.looks).toBe(looks + 1)
})

test('a watcher that ends during a read gets nothing more, and the generator ends with the task', async () => {
  await using process = await startProcess()
  const watched = watchOne(process)
  await addEvent(watched.id, 1, 'accepted')
  process.notify([watched.id])
  watched.end()
  await addEvent(watched.id, 2, 'completed')
  const kinds: string[] = []
  for await (const { kind } of process.follow(watched, 0, new AbortController().signal)) kinds.push(kind)
  expect(kinds).toEqual(['accepted', 'completed'])
  expect(watched.received).toEqual([])
})

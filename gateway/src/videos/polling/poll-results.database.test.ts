/** What the poll loop records: results of polls, and the runs that store results. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createStartedTask } from '../../../test/kit/started-task.ts'
import { startVendorGateway, type VendorGateway } from '../../../test/kit/vendor-gateway.ts'
import { recordSubmitted, waitForDeadline } from '../lifecycle/submit-store.ts'
import { leaveToPollLoop, recordOutcome } from '../open-task-store.ts'
import { carriedVideos } from '../queue/carried-task-store.ts'
import { findDuePolls, nextPollInMs, recordPolls, type PollResult } from './poll-store.ts'

const done = { kind: 'done', result: { url: 'x' } } as const

let gateway: VendorGateway

beforeAll(async () => {
  gateway = await startVendorGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A task that was handed to the engine as run 1. */
const startedTask = () => createStartedTask(gateway, 'submitting')

/** A task whose job is due for a poll. */
const waitingTask = async (firstPollMs = 0): Promise<string> => {
  const taskId = await startedTask()
  const job = { taskId, provider: 'vendor', upstream: { id: `job of ${taskId}` }, firstPollMs }
  await recordSubmitted(gateway.database.postgres, [job])
  return taskId
}

const change = (taskId: string, what: string) =>
  gateway.database.postgres.query(`update open_tasks set ${what} where task_id = $1`, [taskId])

const findDue = async (taskId: string) =>
  (await findDuePolls(gateway.database.postgres, 'vendor', 0, 1, 1_000)).find((due) => due.taskId === taskId)

const record = async (taskId: string, result: Partial<PollResult>) => {
  const { postgres } = gateway.database
  const { rows } = await postgres.query<{ day: string }>('select day from video_tasks where id = $1', [
    taskId,
  ])
  const day = rows[0]?.day ?? ''
  const { runs } = await recordPolls(postgres, [
    { taskId, day, progress: null, outcome: null, nextPollMs: 60_000, ...result },
  ])
  return runs
}

const recordOf = async (taskId: string) => {
  const { rows } = await gateway.database.postgres.query<{ stage: string; run: number; atDeadline: boolean }>(
    `select stage, run, next_poll_at = deadline_at as "atDeadline" from open_tasks where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

test('a shard has the time of its next poll, if a job waits', async () => {
  const { postgres } = gateway.database
  expect(await nextPollInMs(postgres, 'alone', 0, 1)).toBeUndefined()
  for (const firstPollMs of [7_200_000, 3_600_000])
    await change(await waitingTask(firstPollMs), `provider = 'alone'`)
  const nextMs = await nextPollInMs(postgres, 'alone', 0, 1)
  expect(nextMs).toBeGreaterThan(0)
  expect(nextMs).toBeLessThanOrEqual(3_600_000)
})

test('watchers are only told of tasks that have advanced', async () => {
  const [advanced, unchanged] = [await waitingTask(), await waitingTask()]
  const poll = async (progress: number) => {
    const results = await Promise.all(
      [advanced, unchanged].map(async (taskId) => {
        const { rows } = await gateway.database.postgres.query<{ day: string }>(
          'select day from video_tasks where id = $1',
          [taskId],
        )
        return {
          ...{ taskId, day: rows[0]?.day ?? '', outcome: null, nextPollMs: 60_000 },
          progress: taskId === advanced ? progress : 10,
        }
      }),
    )
    return (await recordPolls(gateway.database.postgres, results)).advanced.toSorted()
  }
  expect(await poll(10)).toEqual([advanced, unchanged].toSorted())
  expect(await poll(20)).toEqual([advanced])
  expect(await poll(15)).toEqual([])
})

describe('a run that stores the result', () => {
  test('is started once for an outcome', async () => {
    const taskId = await waitingTask()
    expect(await record(taskId, {})).toEqual([])
    const [started] = await record(taskId, { outcome: done, startsRun: true })
    expect(started).toMatchObject({ taskId })
    expect(started?.run).toBeGreaterThan(1)
    expect(await recordOf(taskId)).toMatchObject({ stage: 'storing', run: started?.run })
    expect(await findDue(taskId)).toBeUndefined()
    await change(taskId, 'next_poll_at = now()')
    expect(await findDue(taskId)).toBeUndefined()
    expect(await record(taskId, { startsRun: true })).toEqual([])
  })

  test('is another one after its download was postponed', async () => {
    const taskId = await waitingTask()
    const [first] = await record(taskId, { outcome: done, startsRun: true })
    if (first === undefined) throw new Error('no run')
    await leaveToPollLoop(gateway.database.postgres, first, { waitMs: 0 })
    expect(await findDue(taskId)).toMatchObject({ outcome: done })
    const [second] = await record(taskId, { startsRun: true })
    expect(second?.run).toBeGreaterThan(first.run)
    // The first run has been replaced, so it can postpone nothing.
    await leaveToPollLoop(gateway.database.postgres, first, { waitMs: 0 })
    expect(await recordOf(taskId)).toMatchObject({ stage: 'storing', run: second?.run })
  })

  test('is due at once for an outcome that was found by a cancel', async () => {
    const taskId = await waitingTask(60_000)
    expect(await findDue(taskId)).toBeUndefined()
    await recordOutcome(gateway.database.postgres, taskId, done)
    expect(await findDue(taskId)).toMatchObject({ outcome: done })
  })

  test('stores the first outcome, whoever finds another one', async () => {
    const { postgres } = gateway.database
    const refused = { kind: 'refused', code: 'upstream_error', message: '' } as const
    const taskId = await waitingTask()
    await recordOutcome(postgres, taskId, done)
    await recordOutcome(postgres, taskId, refused)
    expect(await findDue(taskId)).toMatchObject({ outcome: done })
    await record(taskId, { outcome: refused, nextPollMs: 0 })
    expect(await findDue(taskId)).toMatchObject({ outcome: done })
  })

  test('is not started for a task that has ended', async () => {
    const taskId = await waitingTask()
    await gateway.database.postgres.query('delete from open_tasks where task_id = $1', [taskId])
    expect(await record(taskId, { outcome: done, startsRun: true })).toEqual([])
  })
})

describe('a task is due at its deadline at the latest', () => {
  const hours = (count: number) => count * 3_600_000

  test.each([
    ['after its submit', () => waitingTask(hours(100))],
    [
      'after a poll',
      async () => {
        const taskId = await waitingTask()
        await record(taskId, { nextPollMs: hours(100) })
        return taskId
      },
    ],
    [
      'after a submit with an unknown outcome',
      async () => {
        const taskId = await startedTask()
        await waitForDeadline(gateway.database.postgres, { taskId, run: 1 })
        return taskId
      },
    ],
  ])('%s', async (_, create) => {
    const taskId = await create()
    expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', atDeadline: true })
    expect(await findDue(taskId)).toBeUndefined()
    await change(taskId, `deadline_at = now(), next_poll_at = now()`)
    expect(await findDue(taskId)).toMatchObject({ isOverdue: true, outcome: null })
  })
})

describe('the comparison with the engine', () => {
  const carried = () => carriedVideos(gateway.database.postgres)
  const isExpected = async (taskId: string) => (await carried().readRuns([taskId])).length === 1
  const isOverdue = async (taskId: string) =>
    (await carried().findOverdue()).some((run) => run.taskId === taskId)

  test('expects a run of a task that is submitted or stored, and none while its job is awaited', async () => {
    const taskId = await startedTask()
    expect(await isExpected(taskId)).toBe(true)
    const waiting = await waitingTask()
    expect(await isExpected(waiting)).toBe(false)
    await record(waiting, { outcome: done, startsRun: true })
    expect(await isExpected(waiting)).toBe(true)
  })

  test.each([
    ['an outcome', `outcome = '${JSON.stringify(done)}', next_poll_at = now() - interval '1 min'`],
    ['a deadline', `deadline_at = now() - interval '2 min', next_poll_at = now() - interval '1 min'`],
    ['a deadline, without a time of a poll', `deadline_at = now() - interval '1 min', next_poll_at = null`],
  ])('finds %s that no poll loop has processed, and gives the task one run', async (_, what) => {
    const taskId = await waitingTask()
    await change(taskId, `next_poll_at = now() - interval '1 min'`)
    expect(await isOverdue(taskId)).toBe(false)
    await change(taskId, what)
    expect(await isOverdue(taskId)).toBe(true)
    expect(await carried().renew([{ taskId, run: 1 }])).toHaveLength(1)
    expect(await recordOf(taskId)).toMatchObject({ stage: 'storing' })
    expect(await isOverdue(taskId)).toBe(false)
    expect(await carried().renew([{ taskId, run: 1 }])).toEqual([])
  })
})

import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { createLog } from '../log.ts'
import { startPeriodicJobs, type PeriodicJob } from './periodic-jobs.ts'
import { claimJob } from './tick-store.ts'

const log = createLog({ level: 'silent' }, 'test')
const hourMs = 3_600_000

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

/** Starts a process with these jobs, which are called `job-0`, `job-1` and so on. */
const start = (loop: string, jobs: Pick<PeriodicJob, 'isRunAtStart' | 'run'>[]) =>
  startPeriodicJobs(
    { postgres: database.postgres, log },
    loop,
    jobs.map((job, index) => ({ ...job, name: `job-${index}`, everyMs: hourMs })),
  )

test('of two processes, one runs a job', async () => {
  let runs = 0
  const jobs = [{ run: async () => void (runs += 1) }]
  const loop = randomUUID()
  const processes = [start(loop, jobs), start(loop, jobs)]
  await expect.poll(() => runs).toBe(1)
  await Promise.all(processes.map(({ stop }) => stop()))
  expect(runs).toBe(1)
})

test('a job whose lease another process has is run at the start, if it says so', async () => {
  const loop = randomUUID()
  for (const name of ['job-0', 'job-1']) await claimJob(database.postgres, loop, name, hourMs)
  const runs: string[] = []
  const { stop } = start(loop, [
    { run: async () => void runs.push('without') },
    { isRunAtStart: true, run: async () => void runs.push('with') },
  ])
  await expect.poll(() => runs).toEqual(['with'])
  await stop()
  expect(runs).toEqual(['with'])
})

test('a long job delays no other, and is told when the process stops', async () => {
  const ran = Promise.withResolvers<undefined>()
  const begun = Promise.withResolvers<undefined>()
  let isStopped = false
  const { stop } = start(randomUUID(), [
    {
      run: (stopping) =>
        new Promise((resolve) => {
          begun.resolve(undefined)
          stopping.addEventListener('abort', () => {
            isStopped = true
            resolve()
          })
        }),
    },
    { run: async () => ran.resolve(undefined) },
    { run: () => Promise.reject(new Error('a failure')) },
  ])
  await Promise.all([begun.promise, ran.promise])
  await stop()
  expect(isStopped).toBe(true)
})

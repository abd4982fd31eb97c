import { expect, test } from 'vitest'

import { createDatabase } from '../../../test/kit/database.ts'
import { createLog } from '../../platform/log.ts'
import { createJobDurations } from './job-durations.ts'

const log = createLog({ level: 'silent' }, 'test')
/** Disables the timers; the tests call flush. */
const withoutTimers = { refreshEveryMs: 3_600_000, writeEveryMs: 3_600_000 }

test('durations are known to every process after a few jobs, separately by provider and model', async () => {
  await using database = await createDatabase()
  const one = createJobDurations({ postgres: database.postgres, log }, withoutTimers)
  const other = createJobDurations({ postgres: database.postgres, log }, withoutTimers)
  for (const seconds of [60, 62, 58, 61, 59, 60, 63]) one.learn('alpha', 'video-1', seconds * 1000)
  await one.flush()
  expect(one.of('alpha', 'video-1')).toBeUndefined()
  for (const seconds of [60, 61, 59]) other.learn('alpha', 'video-1', seconds * 1000)
  await other.flush()
  await one.flush()

  const durations = one.of('alpha', 'video-1')
  expect(durations).toEqual(other.of('alpha', 'video-1'))
  expect(durations?.p50).toBeGreaterThan(50_000)
  expect(durations?.p50).toBeLessThan(70_000)
  expect(durations?.p5).toBeLessThan(durations?.p50 ?? 0)
  expect(durations?.p95).toBeGreaterThan(durations?.p50 ?? 0)
  expect(one.of('alpha', 'video-2')).toBeUndefined()
  expect(one.of('beta', 'video-1')).toBeUndefined()
  await Promise.all([one.stop(), other.stop()])
})

test('newer jobs have more weight, so the durations of a slower provider adapt', async () => {
  await using database = await createDatabase()
  const jobDurations = createJobDurations({ postgres: database.postgres, log }, withoutTimers)
  for (let job = 0; job < 300; job += 1) jobDurations.learn('alpha', 'video-1', 20_000)
  await jobDurations.flush()
  for (let job = 0; job < 300; job += 1) jobDurations.learn('alpha', 'video-1', 200_000)
  await jobDurations.flush()
  expect(jobDurations.of('alpha', 'video-1')?.p50).toBeGreaterThan(150_000)
  await jobDurations.stop()
})

test('jobs that are always done at the first poll move that poll forward', async () => {
  await using database = await createDatabase()
  const jobDurations = createJobDurations({ postgres: database.postgres, log }, withoutTimers)
  for (let job = 0; job < 200; job += 1) jobDurations.learn('alpha', 'video-1', 100_000)
  await jobDurations.flush()
  const before = jobDurations.of('alpha', 'video-1')?.p5 ?? 0
  for (let round = 0; round < 5; round += 1) {
    const firstPollMs = jobDurations.of('alpha', 'video-1')?.p5 ?? 0
    for (let job = 0; job < 15; job += 1) jobDurations.learn('alpha', 'video-1', firstPollMs)
    await jobDurations.flush()
  }
  expect(jobDurations.of('alpha', 'video-1')?.p5).toBeLessThan(before / 2)
  await jobDurations.stop()
})

test('concurrent processes lose no observations, and these survive the processes', async () => {
  await using database = await createDatabase()
  const processes = Array.from({ length: 4 }, () =>
    createJobDurations({ postgres: database.postgres, log }, withoutTimers),
  )
  for (const each of processes) for (let job = 0; job < 5; job += 1) each.learn('alpha', 'video-1', 30_000)
  await Promise.all(processes.map((each) => each.stop()))
  const { rows } = await database.postgres.query<{ weight: number }>(
    'select sum(weight) as weight from job_durations',
  )
  expect(rows[0]?.weight).toBeGreaterThan(18)
  expect(rows[0]?.weight).toBeLessThanOrEqual(20)
})

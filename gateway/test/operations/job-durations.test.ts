import { expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { createJobDurations } from '../../src/videos/polling/job-durations.ts'
import { createDatabase } from '../kit/database.ts'

const log = createLog({ level: 'silent' }, 'test')
/** Nothing happens by the clock: each test says when. */
const byHand = { refreshEveryMs: 3_600_000, writeEveryMs: 3_600_000 }

test('a pace is known after a few jobs, to every process, and told apart by provider and model', async () => {
  await using database = await createDatabase()
  const one = createJobDurations({ postgres: database.postgres, log }, byHand)
  const other = createJobDurations({ postgres: database.postgres, log }, byHand)
  for (const seconds of [60, 62, 58, 61, 59, 60, 63]) one.learn('alpha', 'video-1', seconds * 1000)
  await one.flush()
  expect(one.of('alpha', 'video-1')).toBeUndefined()
  for (const seconds of [60, 61, 59]) other.learn('alpha', 'video-1', seconds * 1000)
  await other.flush()
  await one.flush()

  const pace = one.of('alpha', 'video-1')
  expect(pace).toEqual(other.of('alpha', 'video-1'))
  expect(pace?.p50).toBeGreaterThan(50_000)
  expect(pace?.p50).toBeLessThan(70_000)
  expect(pace?.p5).toBeLessThan(pace?.p50 ?? 0)
  expect(pace?.p95).toBeGreaterThan(pace?.p50 ?? 0)
  expect(one.of('alpha', 'video-2')).toBeUndefined()
  expect(one.of('beta', 'video-1')).toBeUndefined()
  await Promise.all([one.stop(), other.stop()])
})

test('newer jobs count more: a provider that has become slower is known as such after as many jobs', async () => {
  await using database = await createDatabase()
  const pace = createJobDurations({ postgres: database.postgres, log }, byHand)
  for (let job = 0; job < 300; job += 1) pace.learn('alpha', 'video-1', 20_000)
  await pace.flush()
  for (let job = 0; job < 300; job += 1) pace.learn('alpha', 'video-1', 200_000)
  await pace.flush()
  expect(pace.of('alpha', 'video-1')?.p50).toBeGreaterThan(150_000)
  await pace.stop()
})

test('jobs that are always done at the first look bring that look forward', async () => {
  await using database = await createDatabase()
  const pace = createJobDurations({ postgres: database.postgres, log }, byHand)
  for (let job = 0; job < 200; job += 1) pace.learn('alpha', 'video-1', 100_000)
  await pace.flush()
  const before = pace.of('alpha', 'video-1')?.p5 ?? 0
  for (let round = 0; round < 5; round += 1) {
    const lookMs = pace.of('alpha', 'video-1')?.p5 ?? 0
    for (let job = 0; job < 15; job += 1) pace.learn('alpha', 'video-1', lookMs)
    await pace.flush()
  }
  expect(pace.of('alpha', 'video-1')?.p5).toBeLessThan(before / 2)
  await pace.stop()
})

test('several processes learn at the same time and none of their jobs is lost; what was learned outlives them', async () => {
  await using database = await createDatabase()
  const processes = Array.from({ length: 4 }, () =>
    createJobDurations({ postgres: database.postgres, log }, byHand),
  )
  for (const each of processes) for (let job = 0; job < 5; job += 1) each.learn('alpha', 'video-1', 30_000)
  await Promise.all(processes.map((each) => each.stop()))
  const { rows } = await database.postgres.query<{ weight: number }>(
    'select sum(weight) as weight from job_durations',
  )
  expect(rows[0]?.weight).toBeGreaterThan(18)
  expect(rows[0]?.weight).toBeLessThanOrEqual(20)
})

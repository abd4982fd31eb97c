/** Calibration: how many tasks of a busy service end within the time left that they were shown, and how wide it is. */
import { setTimeout as sleep } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { manyRequests, startStack } from '../kit/stack.ts'

const slots = 16
const warmTasks = 90
const measuredTasks = 500
const lengths = [4, 8, 12]
/** The jobs of a video of one second take this long on average. */
const msPerSecond = 1_000
const spread = 0.3
const load = 0.95

const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
const draw = () => {
  const seconds = lengths[Math.floor(Math.random() * lengths.length)] ?? 4
  return { seconds, durationMs: Math.round(seconds * msPerSecond * Math.exp(spread * normal())) }
}
const meanMs = (lengths.reduce((sum, each) => sum + each, 0) / lengths.length) * msPerSecond
const quantile = (values: number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(share * values.length)] ?? NaN

test('nine of ten tasks end within the time left that they were shown, and it is not wide', async () => {
  await using stack = await startStack({
    slots,
    environment: { ...manyRequests, LIMIT_CREATES_PER_MINUTE: '100000' },
    providerSettings: { pollIntervalMsMin: 250, pollIntervalMsMax: 2_000 },
  })
  const create = () => {
    const { seconds, durationMs } = draw()
    return stack.create(`A whale vendor:duration=${durationMs}ms`, { seconds: String(seconds) })
  }
  const arrive = () => sleep((-Math.log(1 - Math.random()) * meanMs) / slots / load)
  for (let task = 0; task < warmTasks; task += 1) {
    await arrive()
    void create()
  }
  const shown: { id: string; atMs: number; min: number; max: number; isWaiting: boolean }[] = []
  const read = async (id: string) => {
    const { headers } = await ask(`${stack.url}/v1/videos/${id}`, stack.key)
    const [min, max] = (headers.get('x-time-left') ?? '').split('-').map(Number)
    if (min === undefined || max === undefined) return
    shown.push({ id, atMs: Date.now(), min, max, isWaiting: headers.has('x-queue-position') })
  }
  const reads: Promise<void>[] = []
  for (let task = 0; task < measuredTasks; task += 1) {
    await arrive()
    const id = await create()
    reads.push(
      read(id),
      sleep(Math.random() * 2 * meanMs).then(() => read(id)),
    )
  }
  await Promise.all(reads)
  await stack.until('all have ended', async () => {
    const { completed = 0 } = await stack.states()
    return completed === warmTasks + measuredTasks
  })
  const { rows } = await stack.database.postgres.query<{ id: string; created: number; finished: number }>(
    `select id, (extract(epoch from created_at) * 1000)::double precision as created,
            (extract(epoch from finished_at) * 1000)::double precision as finished from video_tasks`,
  )
  const tasks = new Map(rows.map((row) => [row.id, row]))
  const estimates = shown.map((each) => ({
    ...each,
    tookMs: (tasks.get(each.id)?.finished ?? NaN) - each.atMs,
  }))
  const report = (name: string, given: typeof estimates) => {
    const within = given.filter(({ min, max, tookMs }) => tookMs >= min * 1000 && tookMs <= max * 1000)
    const early = given.filter(({ min, tookMs }) => tookMs < min * 1000)
    const share = within.length / given.length
    const width = quantile(
      given.map(({ min, max }) => max - min),
      0.5,
    )
    console.log(
      `${name}: ${given.length} estimates, ${(share * 100).toFixed(1)} % within, ${early.length} earlier, median width ${width} s`,
    )
    return { share, width }
  }
  const durations = rows.map(({ created, finished }) => (finished - created) / 1000)
  const interquartile = quantile(durations, 0.75) - quantile(durations, 0.25)
  console.log(
    `durations from create to completion: median ${quantile(durations, 0.5).toFixed(1)} s, interquartile range ${interquartile.toFixed(1)} s`,
  )
  report(
    'waiting',
    estimates.filter(({ isWaiting }) => isWaiting),
  )
  report(
    'processing',
    estimates.filter(({ isWaiting }) => !isWaiting),
  )
  const { share, width } = report('all', estimates)
  expect(estimates.length).toBeGreaterThan(measuredTasks)
  expect(share).toBeGreaterThan(0.85)
  expect(share).toBeLessThan(0.95)
  expect(width).toBeLessThan(2 * interquartile)
})

/** Queue position and time left. There is no engine in these tests, so no task leaves the queue by itself. */
import { randomUUID } from 'node:crypto'

import { VideoEvent } from '@kinora/contract/operations/video-fields'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import type { Database, Postgres } from '../../src/platform/postgres.ts'
import type { Range } from '../../src/routing/queue-position.ts'
import { countWaitingTasks } from '../../src/routing/queue-wait-store.ts'
import { createQueueWait } from '../../src/routing/queue-wait.ts'
import { bucketOf, quantileOf } from '../../src/videos/polling/duration-histogram.ts'
import { createDurationLearner } from '../../src/videos/polling/duration-learner.ts'
import {
  addTaskDurations,
  taskDurationRatio,
  type TaskKind,
} from '../../src/videos/polling/task-duration-store.ts'
import { loadTaskDurations } from '../../src/videos/polling/task-durations.ts'
import { findQueuePlaces } from '../../src/videos/queue/queue-place-store.ts'
import { createReadQueuePlace } from '../../src/videos/queue/queue-place.ts'
import { timeLeftOfRunning } from '../../src/videos/queue/time-left.ts'
import { ask, askJson } from '../kit/answers.ts'
import { createDatabase } from '../kit/database.ts'
import { dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { dispatchTick } from '../kit/queue.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startTaskLife, type TaskLife } from '../kit/task-life.ts'

const log = createLog({ level: 'silent' }, 'test')

let gateway: TestGateway
let life: TaskLife
let key: TestKey
let accountId: string

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }
const rangePattern = /^\d+-\d+$/
const rangeOf = (text: string | null): Range => {
  expect(text).toMatch(rangePattern)
  const [min = NaN, max = NaN] = (text ?? '').split('-').map(Number)
  expect(min).toBeLessThanOrEqual(max)
  return { min, max }
}

const create = async (model = order.model): Promise<string> =>
  String((await askJson(`${gateway.url}/v1/videos`, key.text, { ...order, model })).body['id'])
const read = (id: string, base = '/v1') => ask(`${gateway.url}${base}/videos/${id}`, key.text)

/** Reads until the estimate is known: the state of the queue is read in the background. */
const readWith = async (id: string, header: string, base = '/v1') => {
  let answer = await read(id, base)
  await expect
    .poll(async () => {
      answer = await read(id, base)
      return answer.headers.get(header)
    })
    .toMatch(rangePattern)
  return answer
}

/** Adds waiting tasks; returns their ids in the order of arrival. */
const fill = async (
  postgres: Postgres,
  account: string,
  keyId: string,
  seconds: number[],
  provider = 'local',
): Promise<string[]> => {
  const { rows } = await postgres.query<{ id: string }>(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at, not_before,
                             deadline_at)
     select gen_random_uuid(), current_date, $1, $2, given.seconds, $4, 'vidB-2', 0,
            now() + make_interval(secs => given.place / 1000.0), now(), now() + interval '1 hour'
       from unnest($3::integer[]) with ordinality as given (seconds, place)
     returning task_id as id`,
    [account, keyId, seconds, provider],
  )
  return rows.map(({ id }) => id)
}

/** Tasks take two hours: much longer than this test, however slow the machine is. */
const learn = (model: string, pixels = 1280 * 720, hours = 2) =>
  addTaskDurations(
    gateway.database.postgres,
    { provider: 'local', model, seconds: 4, pixels },
    [{ bucket: bucketOf(hours * 3_600_000, taskDurationRatio), weight: 100 }],
    1,
  )

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  life = startTaskLife(gateway)
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
  await learn('vidB-2')
})
afterAll(async () => {
  life.close()
  await gateway[Symbol.asyncDispose]()
})

describe('a waiting task', () => {
  test('has headers under /v1, where the body is unchanged, and fields under /openai/v1', async () => {
    const first = await create()
    const second = await create()
    const plain = await readWith(second, 'x-queue-position')
    expect(rangeOf(plain.headers.get('x-queue-position'))).toEqual({ min: 1, max: 1 })
    expect(plain.body).not.toHaveProperty('queue_position')
    expect(plain.body).not.toHaveProperty('time_left_seconds')
    const { headers, body } = await readWith(second, 'x-time-left', '/openai/v1')
    expect(body['queue_position']).toEqual(rangeOf(headers.get('x-queue-position')))
    expect(body['time_left_seconds']).toEqual(rangeOf(headers.get('x-time-left')))
    const query = await ask(`${gateway.url}/v1/video/query?id=${second}`, key.text)
    expect(query.headers.get('x-time-left')).toMatch(rangePattern)
    expect(headers.get('access-control-expose-headers')).toContain('x-time-left')
    for (const id of [first, second]) await life.fail(id)
  })

  test('moves up as soon as the task in front of it is cancelled', async () => {
    const first = await create()
    const second = await create()
    expect(rangeOf((await readWith(second, 'x-queue-position')).headers.get('x-queue-position'))).toEqual({
      min: 1,
      max: 1,
    })
    await ask(`${gateway.url}/v1/videos/${first}/cancel`, key.text, { method: 'POST' })
    // The very next read, although positions are cached.
    expect((await read(second)).headers.get('x-queue-position')).toBe('0-0')
    await life.fail(second)
  })

  test("another account's flood is a few tasks ahead, and nothing else is shown of it", async () => {
    const id = await create()
    const { postgres } = gateway.database
    const flood = await createAccount(postgres)
    await fill(
      postgres,
      flood,
      randomUUID(),
      Array.from({ length: 3_000 }, () => 4),
    )
    await expect
      .poll(async () => rangeOf((await readWith(id, 'x-queue-position')).headers.get('x-queue-position')))
      .toEqual({ min: 0, max: 2 })
    const { headers, body } = await read(id, '/openai/v1')
    expect(JSON.stringify([body, Object.fromEntries(headers)])).not.toContain('3000')
    await postgres.query('delete from open_tasks where account_id = $1', [flood])
    await life.fail(id)
  })

  test('has no time left while too few jobs of its model were observed', async () => {
    const id = await create('vidB-2-pro')
    const { headers } = await readWith(id, 'x-queue-position')
    expect(headers.get('x-time-left')).toBeNull()
    await life.fail(id)
  })
})

describe('a processing task', () => {
  test('has less time left the longer it runs, and none that is known after almost all others were done', async () => {
    const id = await create()
    await life.begin(id)
    const timeLeft = async () => rangeOf((await readWith(id, 'x-time-left')).headers.get('x-time-left'))
    const start = await timeLeft()
    expect(start.max).toBeGreaterThan(7_000)
    expect((await read(id)).headers.get('x-queue-position')).toBeNull()
    const setAge = (seconds: number) =>
      gateway.database.postgres.query(
        'update video_tasks set status_updated_at = now() - make_interval(secs => $2) where id = $1',
        [id, seconds],
      )
    await setAge(3_600)
    await expect.poll(async () => (await timeLeft()).max).toBeLessThan(start.max - 3_500)
    await setAge(36_000)
    await expect.poll(async () => (await read(id)).headers.get('x-time-left')).toBeNull()
    await life.fail(id)
  })

  test('has neither once it has ended', async () => {
    const id = await create()
    await life.begin(id)
    await life.complete(id, accountId)
    await expect.poll(async () => (await read(id)).body['status']).toBe('completed')
    const { headers, body } = await read(id, '/openai/v1')
    expect([headers.get('x-queue-position'), headers.get('x-time-left')]).toEqual([null, null])
    expect(body).not.toHaveProperty('time_left_seconds')
  })
})

test('events have the estimates of the state they report, and the last one has none', async () => {
  const id = await create()
  await readWith(id, 'x-time-left')
  const stream = eventsIn(
    (
      await fetch(`${gateway.url}/v1/videos/${id}/events`, {
        headers: { authorization: `Bearer ${key.text}` },
      })
    ).body,
  )
  const next = async () => {
    const data = dataOf(await nextOf(stream))
    expect(Schema.Errors(VideoEvent, data)).toEqual([true, []])
    return data as Record<string, unknown>
  }
  const range = { min: expect.any(Number), max: expect.any(Number) }
  expect(await next()).toMatchObject({ status: 'pending', queue_position: range, time_left_seconds: range })
  await life.begin(id)
  const processing = await next()
  expect(processing).toMatchObject({ status: 'processing', time_left_seconds: range })
  expect(processing).not.toHaveProperty('queue_position')
  await life.progress(id, 40)
  expect(await next()).toMatchObject({ progress: 40, time_left_seconds: range })
  await life.fail(id)
  const last = await next()
  expect(last).toMatchObject({ status: 'failed' })
  expect(last).not.toHaveProperty('time_left_seconds')
})

test('on the real queue, tasks of different lengths start within the position that was shown', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const lengths = [4, 8, 10, 12, 15, 25]
  const owners = [
    { account: randomUUID(), keyId: randomUUID(), tasks: 40, shift: 0 },
    { account: randomUUID(), keyId: randomUUID(), tasks: 25, shift: 2 },
    { account: randomUUID(), keyId: randomUUID(), tasks: 10, shift: 4 },
    { account: randomUUID(), keyId: randomUUID(), tasks: 3, shift: 5 },
  ].flatMap((owner, index) => [owner, ...(index === 0 ? [{ ...owner, keyId: randomUUID(), tasks: 8 }] : [])])
  const waiting: { id: string; accountId: string; keyId: string; cost: number }[] = []
  for (const { account, keyId, tasks, shift } of owners) {
    const seconds = Array.from(
      { length: tasks },
      (_, index) => lengths[(index + shift) % lengths.length] ?? 4,
    )
    const ids = await fill(postgres, account, keyId, seconds, 'vendor')
    ids.forEach((id, index) => waiting.push({ id, accountId: account, keyId, cost: seconds[index] ?? 4 }))
  }
  const state = { waiting: await countWaitingTasks(postgres), starts: [] }
  const queueWait = createQueueWait({ read: async () => state, isPaused: () => false, log })
  const part = { queue: 'vendor', model: undefined }
  const places = await findQueuePlaces(
    postgres,
    waiting.map(({ id }) => id),
    200,
  )
  const positionOf = (own: (typeof waiting)[number]) => {
    const { tasks, seconds } = places.get(own.id) ?? { tasks: NaN, seconds: NaN }
    const ahead = { tasks: { min: tasks, max: tasks }, cost: { min: seconds, max: seconds } }
    return queueWait.positionOf(part, { ...own, ahead })
  }
  await queueWait.refresh()
  const shown = new Map(waiting.map((own) => [own.id, positionOf(own)]))

  const started: string[] = []
  while (started.length < waiting.length) {
    const { starts } = await dispatchTick(postgres, {}, {}, 1)
    started.push(...starts.map(({ taskId }) => taskId))
    expect(starts).toHaveLength(1)
  }
  const wrong = started.filter((id, place) => {
    const { min, max } = shown.get(id) ?? { min: NaN, max: NaN }
    return !(place >= min && place <= max)
  })
  expect(wrong).toEqual([])
})

test('reads of one waiting task share a statement, and a repeated read needs none', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const ids = await fill(postgres, randomUUID(), randomUUID(), [4, 4, 4], 'vendor')
  let statements = 0
  const counted: Database = {
    query: (text, values) => {
      statements += 1
      return postgres.query(text, values)
    },
  }
  const readPlace = createReadQueuePlace(counted)
  const all = () => Promise.all(Array.from({ length: 300 }, (_, index) => readPlace(ids[index % 3] ?? '')))
  const places = await all()
  expect(places.slice(0, 3)).toMatchObject([{ tasks: 0 }, { tasks: 1 }, { tasks: 2 }])
  expect(statements).toBe(1)
  await all()
  expect(statements).toBe(1)
  expect(await readPlace('not-in-the-queue')).toBeUndefined()
})

test('counting stops at the limit', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const ids = await fill(
    postgres,
    randomUUID(),
    randomUUID(),
    Array.from({ length: 30 }, () => 4),
    'vendor',
  )
  const last = ids.at(-1) ?? ''
  expect((await findQueuePlaces(postgres, [last], 20)).get(last)).toMatchObject({ tasks: 20 })
})

test('the places of tasks of several keys and models are as counted one by one', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const owners = [randomUUID(), randomUUID()].flatMap((account) => [
    { account, keyId: randomUUID() },
    { account, keyId: randomUUID() },
  ])
  const tasks: { id: string; keyId: string; model: string; seconds: number }[] = []
  for (let index = 0; index < 60; index += 1) {
    const { account, keyId } = owners[(index * 7) % 4]!
    const [model, seconds] = [index % 3 === 0 ? 'model-1' : 'model-2', 1 + (index % 5)]
    const [id = ''] = await fill(postgres, account, keyId, [seconds], 'vendor')
    await postgres.query(
      `update open_tasks set model = $2, accepted_at = now() + make_interval(secs => $3) where task_id = $1`,
      [id, model, index],
    )
    tasks.push({ id, keyId, model, seconds })
  }
  const max = 9
  const sum = (ahead: { seconds: number }[]) => ahead.reduce((total, { seconds }) => total + seconds, 0)
  const expected = tasks.map(({ id, keyId, model }, index) => {
    const ahead = tasks.filter((task, place) => task.keyId === keyId && place < index).slice(0, max)
    const ofModel = ahead.filter((task) => task.model === model)
    return [
      id,
      {
        ...{ taskId: id, provider: 'vendor', tasks: ahead.length, seconds: sum(ahead) },
        ...{ tasksOfModel: ofModel.length, secondsOfModel: sum(ofModel) },
      },
    ]
  })
  const places = await findQueuePlaces(
    postgres,
    tasks.map(({ id }) => id),
    max,
  )
  expect(Object.fromEntries(places)).toEqual(Object.fromEntries(expected))
})

test('durations are known by length and size, or by length, or by model, whatever is enough', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const learner = createDurationLearner<TaskKind>(
    (kind, durations, decay) => addTaskDurations(postgres, kind, durations, decay),
    taskDurationRatio,
    log,
    3_600_000,
  )
  const alpha = { provider: 'alpha', model: 'video-1' }
  const learnTimes = (times: number, seconds: number, pixels: number, durationMs: number) => {
    for (let task = 0; task < times; task += 1) learner.learn({ ...alpha, seconds, pixels }, durationMs)
  }
  learnTimes(20, 4, 100, 10_000)
  learnTimes(20, 4, 400, 40_000)
  learnTimes(20, 8, 100, 80_000)
  learnTimes(2, 8, 400, 500_000)
  await learner.stop()
  const durationsOf = await loadTaskDurations(postgres)
  const medianOf = (kind: Partial<TaskKind>) => {
    const histogram = durationsOf({ ...alpha, ...kind })
    return histogram && Math.round(quantileOf(histogram, 0.5) / 10_000)
  }
  expect(medianOf({ seconds: 4, pixels: 100 })).toBe(1)
  expect(medianOf({ seconds: 4, pixels: 400 })).toBe(4)
  // Two are not enough, so those of the same length count.
  expect(medianOf({ seconds: 8, pixels: 400 })).toBe(8)
  expect(medianOf({ seconds: 12, pixels: 100 })).toBe(4)
  expect(medianOf({ provider: 'beta', seconds: 4, pixels: 100 })).toBeUndefined()
})

test('after learning, most tasks finish within the range', async () => {
  await using database = await createDatabase()
  const { postgres } = database
  const kind = { provider: 'alpha', model: 'video-1', seconds: 4, pixels: 100 }
  const learner = createDurationLearner<TaskKind>(
    (each, durations, decay) => addTaskDurations(postgres, each, durations, decay),
    taskDurationRatio,
    log,
    3_600_000,
  )
  const durationMs = (task: number) => 60_000 * Math.exp(0.5 * Math.sin(task * 12.9898) * 1.5)
  for (let task = 0; task < 200; task += 1) learner.learn(kind, durationMs(task))
  await learner.stop()
  const durations = (await loadTaskDurations(postgres))(kind)
  expect(durations).toBeDefined()
  const isWithin = (task: number, elapsedMs: number) => {
    const range = durations && timeLeftOfRunning(durations, elapsedMs)
    const leftSeconds = (durationMs(task) - elapsedMs) / 1000
    return range !== undefined && leftSeconds >= range.min && leftSeconds <= range.max
  }
  const tasks = Array.from({ length: 500 }, (_, index) => 1_000 + index)
  for (const share of [0, 0.3, 0.6]) {
    const within = tasks.filter((task) => isWithin(task, share * durationMs(task))).length
    expect(within / tasks.length).toBeGreaterThan(0.85)
  }
})

/** The submit step of a video task, executed more than once at the same time, as after a worker that stood still. */

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { listenForTest, type TestServer } from '../../../test/kit/listen-for-test.ts'
import { createStartedTask } from '../../../test/kit/started-task.ts'
import { startVendorGateway, type VendorGateway } from '../../../test/kit/vendor-gateway.ts'
import { providerConfigAt } from '../../../test/kit/vendor-providers.ts'
import { createLog } from '../../platform/log.ts'
import { CommitOutcomeUnknown } from '../../platform/postgres-errors.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { createProviders } from '../../providers/registry.ts'
import { createRouter } from '../../routing/router.ts'
import { carriedVideos } from '../queue/carried-task-store.ts'
import { dayOfTaskId } from '../task-id.ts'
import { createStepRecords } from './step-records.ts'
import { moveUnknownOutcome, recordSubmitted, returnToQueue } from './submit-store.ts'
import { submitVideo, type SubmitDependencies } from './submit-video.ts'

const log = createLog({ level: 'silent' }, 'test')

let gateway: VendorGateway

beforeAll(async () => {
  gateway = await startVendorGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A vendor whose submits wait until the test answers them. */
interface HeldVendor extends AsyncDisposable {
  url: string
  submits: () => number
  lookups: () => number
  deletes: () => number
  /** Resolves when so many submits have arrived. */
  untilSubmits: (count: number) => Promise<void>
  answer: (index: number, status: number, body: object) => void
}

const startHeldVendor = async (): Promise<HeldVendor> => {
  const held: ((status: number, body: object) => void)[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let lookups = 0
  let deletes = 0
  const server: TestServer = await listenForTest((request, response) => {
    if (request.method === 'GET') {
      lookups += 1
      response.setHeader('content-type', 'application/json').end('{"data":[]}')
      return
    }
    if (request.method === 'DELETE') {
      deletes += 1
      response.setHeader('content-type', 'application/json').end('{}')
      return
    }
    held.push((status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    for (const each of waiting) if (held.length >= each.count) each.resolve()
  })
  return {
    url: server.url,
    submits: () => held.length,
    lookups: () => lookups,
    deletes: () => deletes,
    untilSubmits: (count) =>
      new Promise((resolve) => {
        if (held.length >= count) resolve()
        else waiting.push({ count, resolve })
      }),
    answer: (index, status, body) => held[index]?.(status, body),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** A database connection that stops before or after the first statement with this text until it is released. */
const paused = (postgres: Postgres, when: 'before' | 'after', text: string) => {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const pause = async (statement: string, at: typeof when) => {
    if (at !== when || !statement.includes(text)) return
    reached.resolve()
    await released.promise
  }
  const query: Database['query'] = async (statement, values) => {
    await pause(statement, 'before')
    const result = await postgres.query<never>(statement, values)
    await pause(statement, 'after')
    return result
  }
  return { postgres: { ...postgres, query }, reached: reached.promise, release: released.resolve }
}

/** A database that a test disturbs. The test expects so many faults, because a text may no longer match. */
interface Disturbed {
  postgres: Postgres
  faults: () => number
}

/** Cannot be reached the first times a statement with this text is sent. */
const unreachable = (postgres: Postgres, text: string, times: number): Disturbed => {
  let failures = 0
  const assertReachable = (statement: string) => {
    if (!statement.includes(text) || failures === times) return
    failures += 1
    throw new Error('timeout exceeded when trying to connect')
  }
  const guarded = (database: Database): Database => ({
    query: async (statement, values) => {
      assertReachable(statement)
      return database.query<never>(statement, values)
    },
  })
  const transaction: Postgres['transaction'] = (work, options) =>
    postgres.transaction((database) => work(guarded(database)), options)
  return { postgres: { ...postgres, ...guarded(postgres), transaction }, faults: () => failures }
}

const submitMs = 600_000
const intent = `set stage = 'submitting'`

/** A worker without an engine, whose only provider is the held vendor. */
const startWorker = async (
  { url }: HeldVendor,
  postgres: Postgres,
  protocolSettings: { idempotentSubmits: boolean; lookup: boolean },
) => {
  const timeoutsMs = { submit: submitMs, poll: 600_000, download: 600_000 }
  const provider = providerConfigAt(url, 'a-key', { protocolSettings, timeoutsMs })
  const config = { providers: [provider], models: {} }
  const liveConfig = { current: () => config, onChange: () => () => {} }
  const providers = createProviders(liveConfig, { ffmpegPath: 'ffmpeg' })
  const router = await createRouter({ liveConfig, providers, postgres: gateway.database.postgres, log })
  const dependencies: SubmitDependencies = {
    postgres,
    records: createStepRecords(postgres),
    providers,
    router,
    log,
    mediaStore: gateway.mediaStore,
    portraitsOf: async () => new Map(),
    webhookUrlOf: () => '',
    wakeDispatcher: () => {},
    wakePoller: () => {},
    announce: () => {},
    jobDurations: { of: () => undefined },
    stopping: new AbortController().signal,
    record: (work) => work(),
  }
  return { dependencies, [Symbol.asyncDispose]: () => router.stop() }
}

/** A task that has just been handed to its first run. */
const startedTask = () => createStartedTask(gateway, 'starting')

/** Is lost once before it confirms the attempt, or the commit with which a job is recorded. */
const unconfirmed = (postgres: Postgres, isRecorded: boolean): Disturbed => {
  let losses = 0
  const query: Database['query'] = async (statement, values) => {
    const result = await postgres.query<never>(statement, values)
    if (losses > 0 || !statement.includes('insert into task_attempts')) return result
    losses += 1
    throw new Error('Connection terminated unexpectedly')
  }
  const transaction: Postgres['transaction'] = async (work, options) => {
    if (losses > 0) return postgres.transaction(work, options)
    losses += 1
    if (isRecorded) await postgres.transaction(work, options)
    throw new CommitOutcomeUnknown('the connection was lost during a commit')
  }
  return { postgres: { ...postgres, query, transaction }, faults: () => losses }
}

const recordOf = async (taskId: string) => {
  const { rows } = await gateway.database.postgres.query(
    `select stage, run, submits, refusals, upstream, outcome_unknown_since is not null as "isUnknown"
       from open_tasks where task_id = $1`,
    [taskId],
  )
  return rows[0]
}

const notIdempotent = { idempotentSubmits: false, lookup: false }

test('of two executions that read the same record, one calls the provider', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stop = paused(postgres, 'before', intent)
  await using frozen = await startWorker(vendor, stop.postgres, notIdempotent)
  await using other = await startWorker(vendor, postgres, notIdempotent)
  const taskId = await startedTask()

  const first = submitVideo(frozen.dependencies, taskId, 1)
  await stop.reached
  const second = submitVideo(other.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  stop.release()
  // The outcome of the other submit is unknown to it, so it waits for the deadline instead.
  expect(await first).toEqual({ kind: 'waiting' })
  expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', submits: 1, isUnknown: true })
  vendor.answer(0, 200, { id: `job of ${taskId}` })
  expect(await second).toEqual({ kind: 'waiting' })
  expect(vendor.submits()).toBe(1)
  expect(await recordOf(taskId)).toMatchObject({
    ...{ stage: 'waiting', submits: 1, upstream: { id: `job of ${taskId}` }, isUnknown: false },
  })
})

test('an execution whose run was replaced before it recorded its intent submits nothing', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stop = paused(postgres, 'before', intent)
  await using frozen = await startWorker(vendor, stop.postgres, notIdempotent)
  const taskId = await startedTask()

  const first = submitVideo(frozen.dependencies, taskId, 1)
  await stop.reached
  const [renewed] = await carriedVideos(postgres).renew([{ taskId, run: 1 }])
  stop.release()
  // Without the check of the run, the submit would wait for the vendor.
  await Promise.race([first, vendor.untilSubmits(1)])
  expect(vendor.submits()).toBe(0)
  expect(await first).toEqual({ kind: 'stop' })
  expect(await recordOf(taskId)).toMatchObject({ stage: 'starting', run: renewed?.run, submits: 0 })
})

test('a certain refusal returns the task to the queue although another execution waits for its deadline', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stop = paused(postgres, 'before', intent)
  await using frozen = await startWorker(vendor, stop.postgres, notIdempotent)
  await using other = await startWorker(vendor, postgres, notIdempotent)
  const taskId = await startedTask()

  const first = submitVideo(frozen.dependencies, taskId, 1)
  await stop.reached
  const second = submitVideo(other.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  stop.release()
  await first
  vendor.answer(0, 429, {})
  expect(await second).toEqual({ kind: 'stop' })
  expect(await recordOf(taskId)).toMatchObject({ stage: 'accepted', refusals: 1, isUnknown: false })
})

test('a response that arrives after an operator gave the task to another provider is a duplicate, which is cancelled', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stop = paused(postgres, 'before', intent)
  await using frozen = await startWorker(vendor, stop.postgres, notIdempotent)
  await using other = await startWorker(vendor, postgres, notIdempotent)
  const taskId = await startedTask()
  const first = submitVideo(frozen.dependencies, taskId, 1)
  await stop.reached
  const second = submitVideo(other.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  stop.release()
  await first
  const to = {
    provider: 'elsewhere',
    shards: 1,
    decision: { provider: 'elsewhere', reason: '', skipped: [] },
    costMicros: undefined,
  }
  await moveUnknownOutcome(postgres, { taskId, day: dayOfTaskId(taskId) ?? '' }, to)
  vendor.answer(0, 200, { id: `job of ${taskId}` })
  await second
  expect(await recordOf(taskId)).toMatchObject({ stage: 'accepted', upstream: null, isUnknown: false })
  expect(vendor.deletes()).toBe(1)
  const { rows } = await postgres.query('select is_duplicate from task_attempts where task_id = $1', [taskId])
  expect(rows).toEqual([{ is_duplicate: true }])
})

test('a refused submit does not resolve a later submit of the same run', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const idempotent = { idempotentSubmits: true, lookup: false }
  await using first = await startWorker(vendor, postgres, idempotent)
  await using second = await startWorker(vendor, postgres, idempotent)
  const taskId = await startedTask()

  const submits = [submitVideo(first.dependencies, taskId, 1)]
  await vendor.untilSubmits(1)
  submits.push(submitVideo(second.dependencies, taskId, 1))
  await vendor.untilSubmits(2)
  vendor.answer(0, 429, {})
  expect(await submits[0]).toEqual({ kind: 'stop' })
  expect(await recordOf(taskId)).toMatchObject({ stage: 'submitting', refusals: 0, isUnknown: true })
  vendor.answer(1, 200, { id: `job of ${taskId}` })
  await submits[1]
  expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', upstream: { id: `job of ${taskId}` } })
})

test.for([500, 429])(
  'a submit of a replaced run that fails with %d leaves the task to the newer run',
  async (status) => {
    await using vendor = await startHeldVendor()
    const { postgres } = gateway.database
    const idempotent = { idempotentSubmits: true, lookup: false }
    await using first = await startWorker(vendor, postgres, idempotent)
    await using second = await startWorker(vendor, postgres, idempotent)
    const taskId = await startedTask()

    const old = submitVideo(first.dependencies, taskId, 1)
    await vendor.untilSubmits(1)
    const [renewed] = await carriedVideos(postgres).renew([{ taskId, run: 1 }])
    const run = renewed?.run ?? 0
    const newer = submitVideo(second.dependencies, taskId, run)
    await vendor.untilSubmits(2)
    vendor.answer(0, status, {})
    expect(await old).toEqual({ kind: 'stop' })
    expect(await recordOf(taskId)).toMatchObject({ stage: 'submitting', run, refusals: 0, isUnknown: true })
    vendor.answer(1, 200, { id: `job of ${taskId}` })
    await newer
    expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', upstream: { id: `job of ${taskId}` } })
  },
)

test('a repetition that is refused does not tell whether the first submit arrived, so the task stays with its provider', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  await using worker = await startWorker(vendor, postgres, { idempotentSubmits: true, lookup: false })
  const taskId = await startedTask()
  await postgres.query(
    `update open_tasks set stage = 'submitting', submits = 1, outcome_unknown_since = now() where task_id = $1`,
    [taskId],
  )
  const repeated = submitVideo(worker.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  vendor.answer(0, 429, {})
  expect(await repeated).toEqual({ kind: 'stop' })
  expect(await recordOf(taskId)).toMatchObject({ stage: 'accepted', refusals: 0, isUnknown: true })
})

test('a job that a webhook names while its submit is given up is polled before the deadline', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stop = paused(postgres, 'before', 'next_poll_at = deadline_at')
  await using worker = await startWorker(vendor, stop.postgres, notIdempotent)
  const taskId = await startedTask()
  const submitted = submitVideo(worker.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  vendor.answer(0, 500, {})
  await stop.reached
  const upstream = { id: `job of ${taskId}` }
  await recordSubmitted(postgres, [{ taskId, provider: 'vendor', upstream, firstPollMs: 0 }])
  stop.release()
  await submitted
  const { rows } = await postgres.query(
    'select next_poll_at < deadline_at as "isEarlier" from open_tasks where task_id = $1',
    [taskId],
  )
  expect(rows).toEqual([{ isEarlier: true }])
})

test.for([
  { what: 'a refusal', text: 'insert into task_attempts', status: 429, stage: 'accepted', refusals: 1 },
  { what: 'a refusal', text: `set stage = 'accepted'`, status: 429, stage: 'accepted', refusals: 1 },
  { what: 'an accepted job', text: 'insert into claimed_jobs', status: 200, stage: 'waiting', refusals: 0 },
])('$what is not forgotten while the database is away ($text)', async ({ text, status, stage, refusals }) => {
  await using vendor = await startHeldVendor()
  const { postgres, faults } = unreachable(gateway.database.postgres, text, 3)
  await using worker = await startWorker(vendor, postgres, notIdempotent)
  const taskId = await startedTask()
  const submitted = submitVideo(worker.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  vendor.answer(0, status, { id: `job of ${taskId}` })
  await submitted
  expect(faults()).toBe(3)
  expect(await recordOf(taskId)).toMatchObject({ stage, refusals, isUnknown: false })
})

test.for([
  { what: 'a refusal that was recorded', status: 429, isRecorded: true, stage: 'accepted' },
  { what: 'a job that was recorded', status: 200, isRecorded: true, stage: 'waiting' },
  { what: 'a job that was not recorded', status: 200, isRecorded: false, stage: 'waiting' },
])('$what is recorded once if the confirmation is lost', async ({ status, isRecorded, stage }) => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const disturbed = unconfirmed(postgres, isRecorded)
  await using worker = await startWorker(vendor, disturbed.postgres, notIdempotent)
  const taskId = await startedTask()
  const submitted = submitVideo(worker.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  vendor.answer(0, status, { id: `job of ${taskId}` })
  await submitted
  expect(disturbed.faults()).toBe(1)
  expect(await recordOf(taskId)).toMatchObject({ stage, isUnknown: false })
  const { rows } = await postgres.query('select is_duplicate from task_attempts where task_id = $1', [taskId])
  expect(rows).toEqual([{ is_duplicate: false }])
})

test('of two executions that learn by lookup that there is no job, one submits again', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const withLookup = { idempotentSubmits: false, lookup: true }
  const stop = paused(postgres, 'before', 'set outcome_unknown_since = null')
  await using frozen = await startWorker(vendor, stop.postgres, withLookup)
  await using other = await startWorker(vendor, postgres, withLookup)
  const taskId = await startedTask()
  await postgres.query(
    `update open_tasks set stage = 'submitting', submits = 1, outcome_unknown_since = now() - interval '1 hour'
      where task_id = $1`,
    [taskId],
  )

  const first = submitVideo(frozen.dependencies, taskId, 1)
  await stop.reached
  const second = submitVideo(other.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  stop.release()
  // It looks the new submit up, which is too recent to be listed for certain.
  expect(await first).toEqual({ kind: 'stop' })
  expect(vendor.lookups()).toBe(3)
  expect(await recordOf(taskId)).toMatchObject({ stage: 'accepted', isUnknown: true })
  vendor.answer(0, 200, { id: `job of ${taskId}` })
  await second
  expect(vendor.submits()).toBe(1)
  expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', upstream: { id: `job of ${taskId}` } })
})

test('an execution that stood still after recording its intent does not submit after another took over', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const withLookup = { idempotentSubmits: false, lookup: true }
  const stop = paused(postgres, 'after', intent)
  await using frozen = await startWorker(vendor, stop.postgres, withLookup)
  await using other = await startWorker(vendor, postgres, withLookup)
  const taskId = await startedTask()

  const first = submitVideo(frozen.dependencies, taskId, 1)
  await stop.reached
  // The stalled task is restarted, and a lookup finds no job.
  await postgres.query(
    `update open_tasks set run = 2, outcome_unknown_since = now() - interval '1 hour' where task_id = $1`,
    [taskId],
  )
  const second = submitVideo(other.dependencies, taskId, 2)
  await vendor.untilSubmits(1)
  vendor.answer(0, 200, { id: `job of ${taskId}` })
  await second
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + submitMs)
  stop.release()
  expect(await first).toEqual({ kind: 'stop' })
  clock.mockRestore()
  expect(vendor.submits()).toBe(1)
  expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', upstream: { id: `job of ${taskId}` } })
})

test('a stopping worker submits nothing, and another one submits the task', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stopping = new AbortController()
  const stop = paused(postgres, 'after', 'join open_tasks o')
  await using first = await startWorker(vendor, stop.postgres, notIdempotent)
  await using other = await startWorker(vendor, postgres, notIdempotent)
  const taskId = await startedTask()
  const submitted = submitVideo({ ...first.dependencies, stopping: stopping.signal }, taskId, 1)
  await stop.reached
  stopping.abort(new Error('the worker is stopping'))
  stop.release()
  await expect(submitted).rejects.toThrow('the worker is stopping')
  expect(await recordOf(taskId)).toMatchObject({ stage: 'starting', submits: 0, isUnknown: false })
  const second = submitVideo(other.dependencies, taskId, 1)
  await vendor.untilSubmits(1)
  vendor.answer(0, 200, { id: `job of ${taskId}` })
  expect(await second).toEqual({ kind: 'waiting' })
})

test('a submit in progress is recorded by the stopping worker, whichever run the task has then', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  const stopping = new AbortController()
  await using first = await startWorker(vendor, postgres, notIdempotent)
  await using other = await startWorker(vendor, postgres, notIdempotent)
  const taskId = await startedTask()
  const submitted = submitVideo({ ...first.dependencies, stopping: stopping.signal }, taskId, 1)
  await vendor.untilSubmits(1)
  stopping.abort()
  // The engine has lost the run, and the task gets a new one.
  await postgres.query('update open_tasks set run = 2 where task_id = $1', [taskId])
  expect(await submitVideo(other.dependencies, taskId, 2)).toEqual({ kind: 'waiting' })
  vendor.answer(0, 200, { id: `job of ${taskId}` })
  expect(await submitted).toEqual({ kind: 'waiting' })
  expect(vendor.submits()).toBe(1)
  expect(await recordOf(taskId)).toMatchObject({ stage: 'waiting', run: 2, isUnknown: false })
  expect(await recordOf(taskId)).toMatchObject({ upstream: { id: `job of ${taskId}` } })
})

test.for([
  { isUnknown: false, stage: 'accepted' },
  { isUnknown: true, stage: 'waiting' },
])(
  'a task of a removed provider is $stage then (outcome unknown: $isUnknown)',
  async ({ isUnknown, stage }) => {
    await using vendor = await startHeldVendor()
    const { postgres } = gateway.database
    await using worker = await startWorker(vendor, postgres, notIdempotent)
    const taskId = await startedTask()
    await postgres.query(
      `update open_tasks set provider = 'removed', outcome_unknown_since = case when $2 then now() end where task_id = $1`,
      [taskId, isUnknown],
    )
    await submitVideo(worker.dependencies, taskId, 1)
    expect(await recordOf(taskId)).toMatchObject({ stage, isUnknown, refusals: 0 })
  },
)

test('a wall clock that is wrong by hours changes neither deadlines nor timeouts', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  await using worker = await startWorker(vendor, postgres, notIdempotent)
  const remaining = async (taskId: string) => {
    const { rows } = await postgres.query<{ ms: number }>(
      'select extract(epoch from deadline_at - now()) * 1000 as ms from open_tasks where task_id = $1',
      [taskId],
    )
    return rows[0]?.ms ?? NaN
  }
  const expected = await remaining(await startedTask())
  for (const hours of [2, -2]) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 })
    try {
      const taskId = await startedTask()
      const sent = vendor.submits()
      const submitted = submitVideo(worker.dependencies, taskId, 1)
      await vendor.untilSubmits(sent + 1)
      vendor.answer(sent, 200, { id: `job of ${taskId}` })
      expect(await submitted).toEqual({ kind: 'waiting' })
      const hourMs = 3_600_000
      expect(Math.round((await remaining(taskId)) / hourMs)).toBe(Math.round(expected / hourMs))
    } finally {
      vi.useRealTimers()
    }
  }
  expect(worker.dependencies.router.healthOf('vendor', 'vidB-2')).toEqual({ kind: 'healthy' })
})

test('a provider is not blamed for a submit that the deadline of its task cut short', async () => {
  await using vendor = await startHeldVendor()
  const { postgres } = gateway.database
  await using worker = await startWorker(vendor, postgres, notIdempotent)
  for (let calls = 0; calls < 5; calls += 1) {
    const taskId = await startedTask()
    await postgres.query(
      `update open_tasks set deadline_at = now() + interval '300 milliseconds' where task_id = $1`,
      [taskId],
    )
    await submitVideo(worker.dependencies, taskId, 1)
  }
  expect(vendor.submits()).toBeGreaterThan(0)
  expect(worker.dependencies.router.healthOf('vendor', 'vidB-2')).toEqual({ kind: 'healthy' })
})

test('an execution with an outdated record does not move a task that another one has begun to submit', async () => {
  const { postgres } = gateway.database
  const taskId = await createStartedTask(gateway, 'starting')
  const read = { taskId, run: 1, submits: 0, day: dayOfTaskId(taskId) ?? '', provider: 'vendor' }
  const records = createStepRecords(postgres)
  expect(await records.beginSubmit({ ...read, costMicros: undefined })).toBe(true)
  const decision = { provider: 'other', reason: 'order 2', skipped: [] }
  const to = { ...{ provider: 'other', shards: 1, decision }, costMicros: undefined }
  await returnToQueue(postgres, read, { waitMs: 0, isRefused: false, to })
  const { rows } = await postgres.query(
    'select provider, stage, submits from open_tasks where task_id = $1',
    [taskId],
  )
  expect(rows).toEqual([{ provider: 'vendor', stage: 'submitting', submits: 1 }])
})

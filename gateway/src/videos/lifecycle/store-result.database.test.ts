/** The store step of a video task, which the engine repeats when a worker dies. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { ask, form } from '../../../test/kit/answers.ts'
import { createAccount, createKey, endTask } from '../../../test/kit/factories.ts'
import { jobForTest } from '../../../test/kit/job-for-test.ts'
import { mediaPrograms } from '../../../test/kit/media-programs.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../../../test/kit/vendor-gateway.ts'
import { vendorProviders } from '../../../test/kit/vendor-providers.ts'
import { createLog } from '../../platform/log.ts'
import { videoOf } from '../../providers/port/provider.ts'
import { createProbeVideo } from '../../storage/probe-video.ts'
import { createDownloadPermits } from '../download-permits.ts'
import { carriedVideos } from '../queue/carried-task-store.ts'
import { createStepRecords } from './step-records.ts'
import { storeResult, type StoreDependencies } from './store-result.ts'

/** One permit, so that a leaked one is noticed. */
const limits = { total: 1, perProvider: 1 }
const request = { provider: 'vendor', isRetry: false }

let gateway: VendorGateway
let dependencies: StoreDependencies

beforeAll(async () => {
  gateway = await startVendorGateway()
  dependencies = {
    postgres: gateway.database.postgres,
    records: createStepRecords(gateway.database.postgres),
    providers: vendorProviders(gateway.vendor, vendorKey),
    mediaStore: gateway.mediaStore,
    probeVideo: createProbeVideo(mediaPrograms(), async () => false),
    retentionMsOf: async () => 60_000,
    downloadPermits: createDownloadPermits(limits),
    downloadPace: async () => undefined,
    downloadRate: { bytesPerSecondMin: 16_384, windowMs: 2_000 },
    slowDownloadRate: { bytesPerSecondMin: 0, windowMs: 1_000 },
    wakePoller: () => undefined,
    stopping: new AbortController().signal,
    learnDuration: () => undefined,
    log: createLog({ level: 'silent' }, 'test'),
  }
})
beforeEach(() => {
  dependencies.downloadPermits = createDownloadPermits(limits)
})
afterEach(() => {
  gateway.vendor.faults.fault = ''
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** A task whose job the provider has completed, and whose run stores the result. */
const taskWithResult = async (directives = ''): Promise<string> => {
  const { postgres, providers } = dependencies
  const key = await createKey(postgres, await createAccount(postgres, { balance: 10 }))
  const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
    method: 'POST',
    body: form({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  const taskId = String(body['id'])
  const signal = AbortSignal.timeout(60_000)
  const job = jobForTest({ taskId, prompt: `a whale vendor:duration=0ms ${directives}` })
  const upstream = await videoOf(providers.get('vendor')).submit(job, signal)
  const outcome = await videoOf(providers.get('vendor')).poll(upstream, signal)
  await postgres.query(
    `update open_tasks
        set stage = 'storing', run = 1, upstream = $2, outcome = $3, outcome_at = now(), next_poll_at = now() + interval '1 min'
      where task_id = $1`,
    [taskId, JSON.stringify(upstream), JSON.stringify(outcome)],
  )
  return taskId
}

/** When the poll loop starts the next run; undefined if this one still has the task. */
const nextTryInMs = async (taskId: string): Promise<number | undefined> => {
  const { rows } = await dependencies.postgres.query<{ stage: string; ms: number }>(
    `select stage, extract(epoch from next_poll_at - now()) * 1000 as ms from open_tasks where task_id = $1`,
    [taskId],
  )
  return rows[0]?.stage === 'waiting' ? rows[0].ms : undefined
}

const failedDownloadsOf = async (taskId: string): Promise<number> => {
  const { rows } = await dependencies.postgres.query<{ count: number }>(
    'select failed_downloads as count from open_tasks where task_id = $1',
    [taskId],
  )
  return rows[0]?.count ?? 0
}

const setDeadline = (taskId: string, seconds: number) =>
  dependencies.postgres.query(
    `update open_tasks set deadline_at = now() + make_interval(secs => $2) where task_id = $1`,
    [taskId, seconds],
  )

test('a run whose stored video the database has forgotten does not complete the task; the next run does', async () => {
  const { postgres } = dependencies
  const taskId = await taskWithResult()
  const ending = await storeResult(dependencies, taskId, 1)
  if (ending.kind !== 'completed') throw new Error(`the step returned ${ending.kind}`)
  // As after a restore from a backup, while the run goes on.
  await postgres.query('delete from media where id = $1', [ending.mediaId])
  await expect(endTask(postgres, taskId, ending)).rejects.toThrow('has already ended')
  const { rows } = await postgres.query('select from open_tasks where task_id = $1', [taskId])
  expect(rows).toHaveLength(1)
  expect(await storeResult(dependencies, taskId, 1)).toEqual(ending)
  await endTask(postgres, taskId, ending)
})

test('a run that was started before the job had ended leaves the task to the poll loop', async () => {
  const { postgres } = dependencies
  const taskId = await taskWithResult()
  await postgres.query('update open_tasks set outcome = null, outcome_at = null where task_id = $1', [taskId])
  expect(await storeResult(dependencies, taskId, 1)).toEqual({ kind: 'stop' })
  expect(await nextTryInMs(taskId)).toBeLessThanOrEqual(0)
  await setDeadline(taskId, -1)
  expect(await storeResult(dependencies, taskId, 1)).toMatchObject({ kind: 'completed' })
  // A cancel finds that the provider has completed the video.
  const { rows } = await postgres.query(
    `select outcome ->> 'kind' as kind from open_tasks where task_id = $1`,
    [taskId],
  )
  expect(rows).toEqual([{ kind: 'done' }])
})

test('a download of a run that a newer one has replaced is aborted and does not end the task', async () => {
  const { postgres } = dependencies
  const taskId = await taskWithResult()
  await setDeadline(taskId, -1)
  gateway.vendor.faults.fault = 'drip@download'
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const anyRate = { bytesPerSecondMin: 0, windowMs: 1_000 }
  const storing = storeResult({ ...dependencies, downloadRate: anyRate }, taskId, 1)
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(1)
  await carriedVideos(postgres).renew([{ taskId, run: 1 }])
  vi.advanceTimersByTime(5_000)
  vi.useRealTimers()
  expect(await storing).toEqual({ kind: 'stop' })
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(0)
})

test('a repeated step neither downloads again nor replaces a stored video', async () => {
  const taskId = await taskWithResult()
  const first = await storeResult(dependencies, taskId, 1)
  expect(first).toMatchObject({ kind: 'completed' })
  const downloads = gateway.vendor.counts().downloads
  gateway.vendor.faults.fault = 'garbage@downloadxall'
  expect(await storeResult(dependencies, taskId, 1)).toEqual(first)
  expect(gateway.vendor.counts().downloads).toBe(downloads)
})

describe('a download that fails', () => {
  // Drip and silence are aborted below the minimum rate. Garbage is a page of HTML, and the rest is an incomplete file.
  test.each(['drip', 'silence', '500', '429', 'drop', 'garbage', 'empty', 'truncated-json', 'damaged'])(
    'with %s is tried again later, returns its permit, and succeeds once the provider has recovered',
    async (fault) => {
      const taskId = await taskWithResult()
      gateway.vendor.faults.fault = `${fault}@download`
      expect(await storeResult(dependencies, taskId, 1)).toEqual({ kind: 'stop' })
      expect(await nextTryInMs(taskId)).toBeDefined()
      await expect.poll(() => gateway.vendor.counts().underWay).toBe(0)
      expect(gateway.vendor.counts().deletes).toBe(0)
      expect(await storeResult(dependencies, taskId, 1)).toMatchObject({ kind: 'completed' })
      expect(dependencies.downloadPermits.tryAcquire(request)).toBeDefined()
    },
  )

  test('is not tried again beyond the deadline', async () => {
    const taskId = await taskWithResult()
    gateway.vendor.faults.fault = '500@downloadxall'
    await setDeadline(taskId, 5)
    // The next try would be up to a minute later.
    await dependencies.postgres.query(
      `update open_tasks set outcome_at = now() - interval '1 h' where task_id = $1`,
      [taskId],
    )
    vi.spyOn(Math, 'random').mockReturnValue(0.99)
    expect(await storeResult(dependencies, taskId, 1)).toEqual({ kind: 'stop' })
    expect(await nextTryInMs(taskId)).toBeLessThanOrEqual(5_000)
    await setDeadline(taskId, -1)
    expect(await storeResult(dependencies, taskId, 1)).toMatchObject({
      kind: 'failed',
      code: 'task_timeout',
    })
    expect(dependencies.downloadPermits.tryAcquire(request)).toBeDefined()
  })
})

test('a result that never is a video fails at the deadline, with the reason', async () => {
  const taskId = await taskWithResult()
  gateway.vendor.faults.fault = 'garbage@downloadxall'
  expect(await storeResult(dependencies, taskId, 1)).toEqual({ kind: 'stop' })
  await setDeadline(taskId, -1)
  expect(await storeResult(dependencies, taskId, 1)).toEqual({
    kind: 'failed',
    code: 'upstream_error',
    message: 'The provider delivered a file that is not a playable video.',
  })
})

describe('a result above the size limit fails the task and is requested once', () => {
  const expectTooLarge = async (given: StoreDependencies, taskId: string) => {
    const { downloads } = gateway.vendor.counts()
    expect(await storeResult(given, taskId, 1)).toEqual({
      kind: 'failed',
      code: 'upstream_error',
      message: 'The provider delivered a file that is too large.',
    })
    expect(gateway.vendor.counts().downloads).toBe(downloads + 1)
  }

  test('if its length is announced', async () => {
    const taskId = await taskWithResult()
    gateway.vendor.faults.fault = 'oversized@downloadxall'
    await expectTooLarge(dependencies, taskId)
  })

  test('if only its bytes show it', async () => {
    const taskId = await taskWithResult()
    const { mediaStore } = dependencies
    const small: StoreDependencies['mediaStore'] = {
      ...mediaStore,
      receive: (key, source) => mediaStore.receive(key, source, { sizeBytesMax: 1_000 }),
    }
    await expectTooLarge({ ...dependencies, mediaStore: small }, taskId)
  })
})

test('trickling and cut results leave the permits to the other results of their provider', async () => {
  // Trickling results do not end by themselves here, and could use all permits.
  const shared = {
    ...dependencies,
    downloadPermits: createDownloadPermits({ total: 8, perProvider: 3 }),
    downloadRate: { bytesPerSecondMin: 0, windowMs: 1_000 },
    slowDownloadRate: { bytesPerSecondMin: 16_384, windowMs: 200 },
  }
  const trickling = await Promise.all(
    Array.from({ length: 3 }, () => taskWithResult('vendor:fault=drip@downloadxall')),
  )
  const ends: string[] = []
  const stores = trickling.map(async (taskId) => {
    await storeResult(shared, taskId, 1)
    ends.push('trickling')
  })
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(3)
  const cut = await taskWithResult('vendor:cut-media=99')
  const good = await Promise.all(Array.from({ length: 6 }, () => taskWithResult()))
  for (const taskId of [cut, ...good]) {
    await expect
      .poll(async () => {
        const { kind } = await storeResult(shared, taskId, 1)
        return kind === 'completed' || (await failedDownloadsOf(taskId)) > 0
      })
      .toBe(true)
    ends.push(taskId === cut ? 'cut' : 'good')
  }
  // One of them has the only place for slow downloads, and goes on until its task has ended.
  expect(ends.filter((each) => each === 'trickling').length).toBeLessThan(3)
  expect(gateway.vendor.counts().underWay).toBeGreaterThan(0)
  await dependencies.postgres.query('delete from open_tasks where task_id = any($1)', [trickling])
  await Promise.all(stores)
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(0)
})

describe('without a permit', () => {
  test('the step does not wait for long, and another run tries again later', async () => {
    const taskId = await taskWithResult()
    const permit = dependencies.downloadPermits.tryAcquire(request)
    const downloads = gateway.vendor.counts().downloads
    expect(await storeResult(dependencies, taskId, 1)).toEqual({ kind: 'stop' })
    expect(await nextTryInMs(taskId)).toBeDefined()
    expect(gateway.vendor.counts().downloads).toBe(downloads)
    permit?.release(true)
    expect(await storeResult(dependencies, taskId, 1)).toMatchObject({ kind: 'completed' })
  })

  test('the task fails after its deadline', async () => {
    const taskId = await taskWithResult()
    const permit = dependencies.downloadPermits.tryAcquire(request)
    await setDeadline(taskId, -10)
    // A result that came just before the deadline has some time to find a permit.
    expect(await storeResult(dependencies, taskId, 1)).toEqual({ kind: 'stop' })
    expect(await nextTryInMs(taskId)).toBeDefined()
    await setDeadline(taskId, -60)
    expect(await storeResult(dependencies, taskId, 1)).toMatchObject({
      kind: 'failed',
      code: 'task_timeout',
    })
    permit?.release(false)
  })
})

test('a stopping worker aborts its downloads, and another one downloads the result', async () => {
  const taskId = await taskWithResult()
  gateway.vendor.faults.fault = 'drip@download'
  const stopping = new AbortController()
  const storing = storeResult({ ...dependencies, stopping: stopping.signal }, taskId, 1)
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(1)
  stopping.abort(new Error('the worker is stopping'))
  await expect(storing).rejects.toThrow('the worker is stopping')
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(0)
  expect(await nextTryInMs(taskId)).toBeUndefined()
  expect(await storeResult(dependencies, taskId, 1)).toMatchObject({ kind: 'completed' })
})

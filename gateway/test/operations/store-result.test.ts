/** The store step of a video task, which the engine repeats when a worker dies before the step is journaled. */
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { videoOf } from '../../src/providers/port/provider.ts'
import { createDiskMediaStore } from '../../src/storage/disk-media-store.ts'
import { createProbeVideo } from '../../src/storage/probe-video.ts'
import { createDownloadPermits } from '../../src/videos/lifecycle/download-permits.ts'
import { createStepRecords } from '../../src/videos/lifecycle/step-records.ts'
import { storeResult, type StoreDependencies } from '../../src/videos/lifecycle/store-result.ts'
import { beginStoring } from '../../src/videos/open-task-store.ts'
import { findDuePolls } from '../../src/videos/polling/poll-store.ts'
import { ask, form } from '../kit/answers.ts'
import { createAccount, createKey, endTask } from '../kit/factories.ts'
import { jobForTest } from '../kit/job-for-test.ts'
import { mediaPrograms } from '../kit/media-programs.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'
import { vendorProviders } from '../kit/vendor-providers.ts'

/** One permit, so that a leaked one is noticed. */
const limits = { total: 1, perProvider: 1 }

let gateway: VendorGateway
let dependencies: StoreDependencies

beforeAll(async () => {
  gateway = await startVendorGateway()
  dependencies = {
    postgres: gateway.database.postgres,
    records: createStepRecords(gateway.database.postgres),
    providers: vendorProviders(gateway.vendor, vendorKey),
    mediaStore: await createDiskMediaStore(join(gateway.directory, 'media')),
    probeVideo: createProbeVideo(mediaPrograms()),
    retentionMsOf: async () => 60_000,
    downloadPermits: createDownloadPermits(limits),
    downloadRate: { bytesPerSecondMin: 16_384, windowMs: 2_000 },
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

/** A task in its first run whose job the provider has completed. */
const taskWithResult = async (): Promise<string> => {
  const { postgres, providers } = dependencies
  const key = await createKey(postgres, await createAccount(postgres, { balance: 10 }))
  const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
    method: 'POST',
    body: form({ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  const taskId = String(body['id'])
  const signal = AbortSignal.timeout(60_000)
  const job = jobForTest({ taskId, prompt: 'a whale vendor:duration=0ms' })
  const upstream = await videoOf(providers.get('vendor')).submit(job, signal)
  const outcome = await videoOf(providers.get('vendor')).poll(upstream, signal)
  await postgres.query(
    `update open_tasks set stage = 'waiting', run = 1, upstream = $2, outcome = $3, outcome_at = now() where task_id = $1`,
    [taskId, JSON.stringify(upstream), JSON.stringify(outcome)],
  )
  return taskId
}

const setDeadline = (taskId: string, seconds: number) =>
  dependencies.postgres.query(
    `update open_tasks set deadline_at = now() + make_interval(secs => $2) where task_id = $1`,
    [taskId, seconds],
  )

test('a run whose stored video the database has forgotten does not complete the task; the next run does', async () => {
  const { postgres } = dependencies
  const taskId = await taskWithResult()
  const ending = await storeResult(dependencies, taskId, 1, 0)
  if (ending.kind !== 'completed') throw new Error(`the step returned ${ending.kind}`)
  // As after a restore from a backup, while the engine keeps the result of the step.
  await postgres.query('delete from media where id = $1', [ending.mediaId])
  await expect(endTask(postgres, taskId, ending)).rejects.toThrow('has already ended')
  const { rows } = await postgres.query('select from open_tasks where task_id = $1', [taskId])
  expect(rows).toHaveLength(1)
  expect(await storeResult(dependencies, taskId, 1, 0)).toEqual(ending)
  await endTask(postgres, taskId, ending)
})

test('a run that stores its result is notified of its outcome again, because the engine may have forgotten', async () => {
  const { postgres } = dependencies
  const taskId = await taskWithResult()
  const findDue = async () =>
    (await findDuePolls(postgres, 'vendor', 0, 1, 1_000)).find((due) => due.taskId === taskId)
  const passTime = () =>
    postgres.query(`update open_tasks set next_poll_at = next_poll_at - interval '20 s' where task_id = $1`, [
      taskId,
    ])
  await beginStoring(postgres, [{ taskId, run: 1 }])
  expect(await findDue()).toBeUndefined()
  await passTime()
  expect(await findDue()).toMatchObject({ isStoring: true, outcome: { kind: 'done' } })
  // Without an outcome the step itself has polled the job, at its deadline.
  await postgres.query('update open_tasks set outcome = null where task_id = $1', [taskId])
  expect(await findDue()).toBeUndefined()
})

test('a repeated step neither downloads again nor replaces a stored video', async () => {
  const taskId = await taskWithResult()
  const first = await storeResult(dependencies, taskId, 1, 0)
  expect(first).toMatchObject({ kind: 'completed' })
  const downloads = gateway.vendor.counts().downloads
  gateway.vendor.faults.fault = 'garbage@downloadxall'
  expect(await storeResult(dependencies, taskId, 1, 0)).toEqual(first)
  expect(gateway.vendor.counts().downloads).toBe(downloads)
})

describe('a download that fails', () => {
  // Drip and silence are aborted below the minimum rate.
  test.each(['drip', 'silence', '500', '429', 'drop'])(
    'with %s is tried again later, returns its permit, and succeeds once the provider has recovered',
    async (fault) => {
      const taskId = await taskWithResult()
      gateway.vendor.faults.fault = `${fault}@download`
      expect(await storeResult(dependencies, taskId, 1, 0)).toEqual({
        kind: 'retry',
        waitMs: expect.any(Number),
      })
      await expect.poll(() => gateway.vendor.counts().underWay).toBe(0)
      expect(await storeResult(dependencies, taskId, 1, 1)).toMatchObject({ kind: 'completed' })
      expect(dependencies.downloadPermits.tryAcquire('vendor')).toBeDefined()
    },
  )

  test('is not tried again beyond the deadline', async () => {
    const taskId = await taskWithResult()
    gateway.vendor.faults.fault = '500@downloadxall'
    await setDeadline(taskId, 5)
    const early = await storeResult(dependencies, taskId, 1, 20)
    expect(early.kind === 'retry' && early.waitMs <= 5_000).toBe(true)
    await setDeadline(taskId, -1)
    expect(await storeResult(dependencies, taskId, 1, 21)).toMatchObject({
      kind: 'failed',
      code: 'task_timeout',
    })
    expect(dependencies.downloadPermits.tryAcquire('vendor')).toBeDefined()
  })
})

describe('without a permit', () => {
  test('the step does not wait for long, and the workflow tries again later', async () => {
    const taskId = await taskWithResult()
    const release = dependencies.downloadPermits.tryAcquire('vendor')
    const downloads = gateway.vendor.counts().downloads
    const result = await storeResult(dependencies, taskId, 1, 7)
    expect(result).toEqual({ kind: 'retry', waitMs: expect.any(Number) })
    expect(gateway.vendor.counts().downloads).toBe(downloads)
    release?.('succeeded')
    expect(await storeResult(dependencies, taskId, 1, 8)).toMatchObject({ kind: 'completed' })
  })

  test('the task fails after its deadline', async () => {
    const taskId = await taskWithResult()
    const release = dependencies.downloadPermits.tryAcquire('vendor')
    await setDeadline(taskId, -10)
    // A result that came just before the deadline has some time to find a permit.
    expect(await storeResult(dependencies, taskId, 1, 9)).toMatchObject({ kind: 'retry' })
    await setDeadline(taskId, -60)
    expect(await storeResult(dependencies, taskId, 1, 10)).toMatchObject({
      kind: 'failed',
      code: 'task_timeout',
    })
    release?.('undecided')
  })
})

test('without a minimum rate, a slow download goes on until its task has ended', async () => {
  const taskId = await taskWithResult()
  gateway.vendor.faults.fault = 'drip@download'
  const patient = { ...dependencies, downloadRate: { bytesPerSecondMin: 0, windowMs: 30_000 } }
  const storing = storeResult(patient, taskId, 1, 0)
  await expect.poll(() => gateway.vendor.counts().underWay).toBe(1)
  await dependencies.postgres.query('delete from open_tasks where task_id = $1', [taskId])
  expect(await storing).toEqual({ kind: 'stop' })
  expect(dependencies.downloadPermits.tryAcquire('vendor')).toBeDefined()
})

/** The store step of a video task, which the engine repeats when a worker dies before the step is journaled. */
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { videoOf } from '../../src/providers/port/provider.ts'
import { createDiskMediaStore } from '../../src/storage/disk-media-store.ts'
import { createProbeVideo } from '../../src/storage/probe-video.ts'
import { storeResult, type StoreDependencies } from '../../src/videos/lifecycle/store-result.ts'
import { ask, form } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { jobForTest } from '../kit/job-for-test.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'
import { vendorProviders } from '../kit/vendor-providers.ts'

let gateway: VendorGateway
let dependencies: StoreDependencies

beforeAll(async () => {
  gateway = await startVendorGateway()
  dependencies = {
    postgres: gateway.database.postgres,
    providers: vendorProviders(gateway.vendor, vendorKey),
    mediaStore: await createDiskMediaStore(join(gateway.directory, 'media')),
    probeVideo: createProbeVideo('ffprobe'),
    retentionMsOf: async () => 60_000,
    log: createLog({ level: 'silent' }, 'test'),
  }
})
afterAll(() => gateway[Symbol.asyncDispose]())

test('a repeated step neither downloads again nor replaces a stored video', async () => {
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

  const first = await storeResult(dependencies, taskId, 1)
  expect(first).toMatchObject({ kind: 'completed' })
  const downloads = gateway.vendor.counts().downloads
  gateway.vendor.faults.fault = 'garbage@downloadxall'
  expect(await storeResult(dependencies, taskId, 1)).toEqual(first)
  expect(gateway.vendor.counts().downloads).toBe(downloads)
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { ask } from '../../../test/kit/answers.ts'
import { acceptedAt, clearingOf } from '../../../test/kit/expired.ts'
import { createAccount, createKey } from '../../../test/kit/factories.ts'
import { putBytes } from '../../../test/kit/stored-media.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../../../test/kit/vendor-gateway.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { SweepDependencies } from '../../retention/sweep.ts'
import { insertStoredFiles } from '../../storage/stored-file-store.ts'
import { jobKeepingOf, removeDueJobs } from '../removal/remove-jobs.ts'
import type { Ending } from '../task.ts'
import { discardJob } from './discard-job.ts'
import { createFinishTask, settleVideo } from './settle-video.ts'

const live = new AbortController().signal
const failed: Ending = { kind: 'failed', code: 'upstream_error', message: '' }

let gateway: VendorGateway
let dependencies: SweepDependencies
let owner: { accountId: string; keyId: string }

beforeAll(async () => {
  gateway = await startVendorGateway()
  dependencies = clearingOf(gateway)
  const accountId = await createAccount(gateway.database.postgres)
  owner = { accountId, keyId: (await createKey(gateway.database.postgres, accountId)).id }
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  gateway.vendor.faults.down = false
  await query('delete from job_removals')
})

const query = (text: string, values: unknown[] = []) =>
  gateway.database.postgres.query(text, values).then(({ rows }) => rows)
const deletes = () => gateway.vendor.counts().deletes

/** A task whose job the vendor has. */
const startTask = async () => {
  const task = await acceptedAt(gateway.database.postgres, owner, new Date())
  const { body } = await ask(`${gateway.vendor.url}/v1/videos`, vendorKey, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  await query(`update open_tasks set stage = 'storing', run = 1, upstream = $2 where task_id = $1`, [
    task.id,
    { id: String(body['id']) },
  ])
  return task
}

const completed = async (taskId: string): Promise<Ending> => {
  const file = { id: uuidV7(), accountId: owner.accountId, taskId, kind: 'video' as const }
  const storageKey = `videos/${file.id}.mp4`
  await putBytes(gateway.mediaStore, storageKey, 'a video')
  await insertStoredFiles(gateway.database.postgres, [
    {
      ...{ ...file, storageKey, contentType: 'video/mp4', sizeBytes: 7, sha256: '00' },
      ...{ width: 480, height: 480, durationMs: 4_000, expiresAt: null },
    },
  ])
  return { kind: 'completed', mediaId: file.id }
}

const settle = (taskId: string, ending: Ending) => {
  const { postgres, providers, mediaStore, log } = dependencies
  return settleVideo(
    {
      ...{ postgres: gateway.database.postgres, providers, mediaStore, log },
      discardJob: discardJob({ postgres, providers }),
      onSlotFreed: () => undefined,
      announce: () => undefined,
      forgetCharacters: async () => [],
    },
    taskId,
    ending,
  )
}

const sweepDue = async () => {
  await query('update job_removals set next_try_at = now()')
  return removeDueJobs(dependencies, live)
}

test('a job is deleted with the end of its task, and its removal is forgotten', async () => {
  const { id } = await startTask()
  const before = deletes()
  await settle(id, failed)
  expect([deletes(), await query('select from job_removals')]).toEqual([before + 1, []])
})

test('a job is deleted by a sweep if the worker died after the end of its task, or if its provider was down', async () => {
  const finishTask = createFinishTask(gateway.database.postgres, () => jobKeepingOf(dependencies.providers))
  await finishTask({ ...(await startTask()), ending: failed })
  const { id } = await startTask()
  gateway.vendor.faults.down = true
  await settle(id, failed)
  gateway.vendor.faults.down = false
  const before = deletes()
  // The process that ended the task has a minute for it.
  expect(await removeDueJobs(dependencies, live)).toBe(0)
  expect(await sweepDue()).toBe(2)
  expect([deletes(), await query('select from job_removals')]).toEqual([before + 2, []])
})

test('a completed job that a remix may need stays, and costs no row', async () => {
  const { id } = await startTask()
  const before = deletes()
  const inserted = async () =>
    query(`select pg_sequence_last_value(pg_get_serial_sequence('job_removals', 'id')) as last`)
  const last = await inserted()
  await settle(id, await completed(id))
  expect([deletes(), await inserted()]).toEqual([before, last])
})

/** Creates old records, and the dependencies of a sweep without a worker. */
import { access } from 'node:fs/promises'

import { postMovements } from '../../src/billing/ledger/ledger-store.ts'
import { priceOf } from '../../src/billing/prices/price.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import type { SweepDependencies } from '../../src/retention/sweep.ts'
import type { MediaStore } from '../../src/storage/port/media-store.ts'
import { createTranscriptionId, dayOfTranscription } from '../../src/transcription-tasks/transcription-id.ts'
import { insertTranscription } from '../../src/transcription-tasks/transcription-task-store.ts'
import { createUuidTaskId, dayOfTaskId } from '../../src/videos/task-id.ts'
import { insertTasks } from '../../src/videos/task-store.ts'
import { vendorKey } from './vendor-gateway.ts'
import { vendorProviders } from './vendor-providers.ts'

export const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000)

/** Default retention, and a vendor that keeps jobs for remixes. */
export const clearingOf = ({
  database: { postgres },
  mediaStore,
  vendor = { url: 'http://127.0.0.1:9' },
}: {
  database: { postgres: Postgres }
  mediaStore: MediaStore
  vendor?: { url: string }
}): SweepDependencies => ({
  postgres,
  mediaStore,
  providers: vendorProviders(vendor, vendorKey),
  days: () => ({ media: 7, task: 30, log: 30 }),
  log: createLog({ level: 'silent' }, 'test'),
})

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** A task as if it had been accepted at that time: its row, event, hold, and open task. */
export const acceptedAt = async (
  postgres: Postgres,
  owner: { accountId: string; keyId: string },
  createdAt: Date,
): Promise<{ id: string; day: string }> => {
  const id = createUuidTaskId(createdAt.getTime())
  const day = dayOfTaskId(id) ?? ''
  const price = priceOf('second', 100_000, 4)
  await postMovements(
    postgres,
    [{ kind: 'hold', ...owner, wallet: 'payg', taskId: id, day, amountMicros: price.totalMicros }],
    { at: createdAt.toISOString() },
  )
  await insertTasks(postgres, [
    {
      ...{
        id,
        day,
        ...owner,
        model: 'vidB-2',
        modelName: 'vidB-2',
        family: 'B',
        createdVia: 'videos',
        state: 'pending',
        progress: 0,
      },
      order: {
        ...{ prompt: 'A whale', seconds: 4, size: '480x480', width: 480, height: 480 },
        ...{ watermark: true, isPrivate: false },
      },
      ...{
        enhancedPrompt: 'A whale',
        provider: 'vendor',
        wallet: 'payg',
        prices: [price],
        holdMicros: price.totalMicros,
      },
      ...{ createdAt, statusUpdatedAt: createdAt, mediaId: null, mediaExpiresAt: null },
      ...{ errorCode: null, errorMessage: null, shard: 0, deadlineMs: 86_400_000, traceContext: null },
      decision: { provider: 'vendor', reason: 'the only route', skipped: [] },
    },
  ])
  return { id, day }
}

/** A transcription task as if it had been accepted at that time, free of charge. */
export const recordingAt = async (
  postgres: Postgres,
  owner: { accountId: string; keyId: string },
  createdAt: Date,
): Promise<{ id: string; day: string; recordingKey: string }> => {
  const id = createTranscriptionId(createdAt.getTime())
  const day = dayOfTranscription(id) ?? ''
  const recordingKey = `recordings/${day}/${id}`
  await insertTranscription(
    postgres,
    {
      ...{ id, day, ...owner, model: 'asr-1', modelName: 'asr-1', state: 'pending' },
      ...{ durationMs: 1_000, doneMs: 0 },
      order: { task: 'transcribe', temperature: 0, hasTimestamps: true },
      ...{
        wallet: 'payg',
        prices: [priceOf('minute', 0, 1)],
        holdMicros: 0,
        errorCode: null,
        errorMessage: null,
      },
      ...{ recordingKey, createdAt, finishedAt: null, expiresAt: null, hasTranscript: false },
    },
    daysAgo(-1),
  )
  return { id, day, recordingKey }
}

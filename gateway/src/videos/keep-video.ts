/**
 * The second step of a run: reads how the job ended and, where there is a video, makes it ours. Only when
 * its bytes are stored, hashed and found to be a playable video does the task count as completed.
 */
import { createHash } from 'node:crypto'

import { taskErrors, type TaskErrorCode } from '@kinora/contract/errors'

import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { uuidV7 } from '../platform/uuid.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Providers } from '../providers/port/provider.ts'
import type { Opaque } from '../providers/port/video.ts'
import type { MediaStore } from '../storage/media-store.ts'
import type { ProbeVideo } from '../storage/probe-video.ts'
import { insertStoredFiles } from '../storage/stored-file-store.ts'
import { touchRun, type OpenTask } from './open-task-store.ts'
import { findTask } from './task-store.ts'
import type { Ending, VideoTask } from './task.ts'

export interface KeepDependencies {
  postgres: Postgres
  providers: Providers
  mediaStore: MediaStore
  probeVideo: ProbeVideo
  /** How long the results of an account are kept. */
  retentionMsOf: (accountId: string) => Promise<number>
  log: Log
}

const videoBytesMax = 2 * 1024 ** 3
const downloadTimeoutMs = 600_000
const signOfLifeMs = 5_000

const failed = (code: TaskErrorCode, message = ''): Ending => ({
  kind: 'failed',
  code,
  message: message === '' ? taskErrors[code] : message,
})

/** The same id and place for every attempt, so that a repeated step leaves one file. */
const placeOf = (task: VideoTask) => {
  const entropy = createHash('sha256').update(`video|${task.id}`).digest()
  const mediaId = uuidV7(task.createdAt.getTime(), entropy)
  return { mediaId, storageKey: `videos/${task.day}/${mediaId}.mp4` }
}

const fetchAndKeep = async (
  { postgres, providers, mediaStore, probeVideo, retentionMsOf, log }: KeepDependencies,
  open: OpenTask,
  task: VideoTask,
  result: Opaque,
): Promise<Ending> => {
  const { mediaId, storageKey } = placeOf(task)
  const provider = providers.get(open.provider)
  const signal = AbortSignal.timeout(downloadTimeoutMs)
  const source = await provider.video.openResult(open.upstream as Opaque, result, signal)
  const { sizeBytes, sha256 } = await mediaStore.put(storageKey, source, videoBytesMax)
  const probed = await mediaStore.withLocalPath(storageKey, probeVideo)
  if (probed === undefined) {
    log.warn({ taskId: task.id, provider: provider.name, sizeBytes }, 'video.unplayable')
    await mediaStore.remove(storageKey)
    return failed('upstream_error', 'The provider delivered a file that is not a playable video.')
  }
  const retentionMs = await retentionMsOf(task.accountId)
  await insertStoredFiles(postgres, [
    {
      id: mediaId,
      accountId: task.accountId,
      taskId: task.id,
      kind: 'video',
      storageKey,
      contentType: 'video/mp4',
      sizeBytes,
      sha256,
      ...probed,
      expiresAt: new Date(Date.now() + retentionMs),
    },
  ])
  return { kind: 'completed', mediaId }
}

export const keepVideo = async (
  dependencies: KeepDependencies,
  taskId: string,
  run: number,
): Promise<Ending | { kind: 'over' }> => {
  const { postgres, log } = dependencies
  const open = await touchRun(postgres, taskId, run, { stage: 'keeping' })
  const task = open && (await findTask(postgres, open.day, taskId))
  if (open === undefined || task === undefined) return { kind: 'over' }
  if (open.outcome === null) return failed('task_timeout')
  if (open.outcome.kind === 'refused') return failed(open.outcome.code, open.outcome.message)

  const signOfLife = setInterval(() => {
    touchRun(postgres, taskId, run).catch((error: unknown) =>
      log.warn({ err: error, taskId }, 'video.silent'),
    )
  }, signOfLifeMs)
  try {
    return await fetchAndKeep(dependencies, open, task, open.outcome.result as Opaque)
  } catch (error) {
    log.warn({ err: error, taskId, provider: open.provider }, 'video.not-kept')
    // A result the provider no longer has is gone; anything else may pass, until the deadline has.
    if (error instanceof ProviderFailure && error.kind === 'rejected') return failed('upstream_error')
    if (open.isOverdue) return failed('task_timeout')
    throw error
  } finally {
    clearInterval(signOfLife)
  }
}

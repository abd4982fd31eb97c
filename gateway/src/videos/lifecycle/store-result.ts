/**
 * The store step of a run: reads the outcome of the job and stores its video. The task is completed only when the bytes
 * are stored, hashed and verified to be a playable video.
 */
import { createHash } from 'node:crypto'

import { taskErrors, type TaskErrorCode } from '@kinora/contract/errors'

import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { uuidV7 } from '../../platform/uuid.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import { videoOf, type Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import type { ProbeVideo } from '../../storage/probe-video.ts'
import { findStoredFile, insertStoredFiles } from '../../storage/stored-file-store.ts'
import { recordOutcome, touchRun, type OpenTask } from '../open-task-store.ts'
import { recordJobFailures } from '../task-attempt-store.ts'
import { findTask } from '../task-store.ts'
import type { Ending, Outcome, VideoTask } from '../task.ts'

export interface StoreDependencies {
  postgres: Postgres
  providers: Providers
  mediaStore: MediaStore
  probeVideo: ProbeVideo
  /** How long the results of an account are retained. */
  retentionMsOf: (accountId: string) => Promise<number>
  log: Log
}

const videoBytesMax = 2 * 1024 ** 3
const heartbeatMs = 5_000
// Some vendors report a video as done shortly before it can be downloaded.
const resultGraceMs = 30_000

const failed = (code: TaskErrorCode, message = ''): Ending => ({
  kind: 'failed',
  code,
  message: message === '' ? taskErrors[code] : message,
})

/** Every attempt uses the same id and key, so that a repeated step leaves one file. */
const locationOf = (task: VideoTask) => {
  const entropy = createHash('sha256').update(`video|${task.id}`).digest()
  const mediaId = uuidV7(task.createdAt.getTime(), entropy)
  return { mediaId, storageKey: `videos/${task.day}/${mediaId}.mp4` }
}

/** Records for operators why a job failed after its provider had accepted it. */
const recordFailure = (postgres: Postgres, { taskId, day, provider }: OpenTask, reason: string) =>
  recordJobFailures(postgres, [{ taskId, day, provider, reason }])

const fetchAndStore = async (
  { postgres, providers, mediaStore, probeVideo, retentionMsOf, log }: StoreDependencies,
  open: OpenTask,
  task: VideoTask,
  result: Opaque,
): Promise<Ending> => {
  const { mediaId, storageKey } = locationOf(task)
  const provider = providers.get(open.provider)
  const signal = AbortSignal.timeout(provider.timeoutsMs.download)
  const source = await videoOf(provider).openResult(open.upstream as Opaque, result, signal)
  const { sizeBytes, sha256 } = await mediaStore.put(storageKey, source, videoBytesMax)
  const probed = await mediaStore.withLocalPath(storageKey, probeVideo)
  if (probed === undefined) {
    log.warn({ taskId: task.id, provider: provider.name, sizeBytes }, 'video.unplayable')
    await recordFailure(postgres, open, `the result of ${sizeBytes} bytes is not a playable video`)
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

/** Polls a job one last time at its deadline, because its outcome may not have been noticed yet. */
const pollOnceMore = async (
  { postgres, providers, log }: StoreDependencies,
  open: OpenTask,
): Promise<Outcome | undefined> => {
  const { taskId, provider: name, upstream } = open
  const provider = providers.find(name)
  if (upstream === null || provider?.video === undefined) return undefined
  try {
    const signal = AbortSignal.timeout(provider.timeoutsMs.poll)
    const status = await provider.video.poll(upstream as Opaque, signal)
    if (status.kind === 'refused') await recordFailure(postgres, open, status.message)
    if (status.kind !== 'done') return undefined
    // From here on a cancel finds the video completed by its provider.
    await recordOutcome(postgres, taskId, { kind: 'done', result: status.result })
    return status
  } catch (error) {
    log.info({ err: error, taskId, provider: name }, 'poll.failed')
    return undefined
  }
}

export const storeResult = async (
  dependencies: StoreDependencies,
  taskId: string,
  run: number,
): Promise<Ending | { kind: 'stop' }> => {
  const { postgres, log } = dependencies
  const open = await touchRun(postgres, taskId, run, { stage: 'storing' })
  const task = open && (await findTask(postgres, open.day, taskId))
  if (open === undefined || task === undefined) return { kind: 'stop' }
  const { mediaId } = locationOf(task)
  // The worker may have died between storing the video and journaling the step.
  if ((await findStoredFile(postgres, mediaId)) !== undefined) return { kind: 'completed', mediaId }
  const outcome = open.outcome ?? (await pollOnceMore(dependencies, open))
  if (outcome === undefined) return failed('task_timeout')
  if (outcome.kind === 'refused') return failed(outcome.code, outcome.message)

  const heartbeat = setInterval(() => {
    touchRun(postgres, taskId, run).catch((error: unknown) =>
      log.warn({ err: error, taskId }, 'video.heartbeat-failed'),
    )
  }, heartbeatMs)
  try {
    return await fetchAndStore(dependencies, open, task, outcome.result as Opaque)
  } catch (error) {
    log.warn({ err: error, taskId, provider: open.provider }, 'video.store-failed')
    // A result that the provider refuses after the grace time is gone. Any other failure is retried until the deadline.
    const waitedMs = performance.now() - (open.outcomeAtMs ?? -Infinity)
    const isRefused = error instanceof ProviderFailure && error.kind === 'rejected'
    const isGone = isRefused && (waitedMs > resultGraceMs || open.isOverdue)
    if (!isGone && !open.isOverdue) throw error
    if (error instanceof ProviderFailure) await recordFailure(postgres, open, error.message)
    return failed(isGone ? 'upstream_error' : 'task_timeout')
  } finally {
    clearInterval(heartbeat)
  }
}

/**
 * The store step of a run: reads the outcome of the job and stores its video. The task is completed only when the bytes
 * are stored, hashed and verified to be a playable video.
 *
 * A download that cannot start within a moment, or fails, is not waited for or thrown, because the run would keep its slot of
 * the engine: the step records when to try again, and the poll loop starts another run then.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import { taskErrors, type TaskErrorCode } from '@kinora/contract/errors'

import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { atWatchedRate, watchRate, type MinimumRate } from '../../platform/streams/minimum-rate.ts'
import { uuidV7 } from '../../platform/uuid.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import { videoOf, type Provider, type Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import { backoffMs } from '../../routing/backoff.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import type { ProbeVideo } from '../../storage/probe-video.ts'
import type { DownloadPermits, DownloadResult } from '../download-permits.ts'
import { isCurrentRun, leaveToPollLoop, recordOutcome, type OpenTask } from '../open-task-store.ts'
import { recordJobFailures } from '../task-attempt-store.ts'
import type { Ending, Outcome, VideoTask } from '../task.ts'
import type { StepRecords } from './step-records.ts'

export interface StoreDependencies {
  postgres: Postgres
  records: Pick<StepRecords, 'findStoringRun' | 'addStoredFile'>
  providers: Providers
  mediaStore: MediaStore
  probeVideo: ProbeVideo
  /** How long the results of an account are retained. */
  retentionMsOf: (accountId: string) => Promise<number>
  downloadPermits: DownloadPermits
  downloadRate: MinimumRate
  wakePoller: (provider: string, taskId: string) => void
  log: Log
}

/** `stop`: this run has nothing more to do. */
export type Stored = Ending | { kind: 'stop' }

const videoBytesMax = 2 * 1024 ** 3
/** How often a download checks that its task still needs it. */
const checkEveryMs = 5_000
// Some vendors report a video as done shortly before it can be downloaded.
const resultGraceMs = 120_000
// A result that came just before the deadline has some time to find a permit.
const permitGraceMs = 30_000
// The backoff starts with two seconds, because each try of many waiting tasks costs work in the engine.
const backoffStart = 2
const backoffStartMs = 2_000
// From the request of a result to its first byte.
const openingTimeoutMs = 60_000

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

/** Copies a result to the storage. A download below the minimum rate is aborted. */
const download = async (
  { mediaStore, downloadRate }: StoreDependencies,
  provider: Provider,
  open: OpenTask,
  result: Opaque,
  storageKey: string,
  superseded: AbortSignal,
) => {
  const tooSlow = new AbortController()
  const giveUp = (reason: string) =>
    tooSlow.abort(new ProviderFailure('unknown', `download was aborted: ${reason}`))
  const signal = AbortSignal.any([
    superseded,
    tooSlow.signal,
    AbortSignal.timeout(provider.timeoutsMs.download),
  ])
  const opening = setTimeout(() => giveUp('no byte within a minute'), openingTimeoutMs)
  try {
    const source = await videoOf(provider).openResult(open.upstream as Opaque, result, signal)
    clearTimeout(opening)
    const rate = watchRate(downloadRate, () =>
      giveUp(`less than ${downloadRate.bytesPerSecondMin} bytes per second`),
    )
    const watched = Readable.from(atWatchedRate(source, rate), { objectMode: false })
    try {
      return await mediaStore.put(storageKey, watched, videoBytesMax)
    } finally {
      rate.stop()
      // It has not been read to its end if the storage failed.
      source.destroy()
    }
  } catch (error) {
    throw tooSlow.signal.aborted ? tooSlow.signal.reason : error
  } finally {
    clearTimeout(opening)
  }
}

const fetchAndStore = async (
  dependencies: StoreDependencies,
  open: OpenTask,
  task: VideoTask,
  result: Opaque,
  superseded: AbortSignal,
): Promise<Ending> => {
  const { postgres, records, providers, mediaStore, probeVideo, retentionMsOf, log } = dependencies
  const { mediaId, storageKey } = locationOf(task)
  const provider = providers.get(open.provider)
  const { sizeBytes, sha256 } = await download(dependencies, provider, open, result, storageKey, superseded)
  const probed = await mediaStore.withLocalPath(storageKey, probeVideo)
  if (probed === undefined) {
    log.warn({ taskId: task.id, provider: provider.name, sizeBytes }, 'video.unplayable')
    await recordFailure(postgres, open, `the result of ${sizeBytes} bytes is not a playable video`)
    await mediaStore.remove(storageKey)
    return failed('upstream_error', 'The provider delivered a file that is not a playable video.')
  }
  const retentionMs = await retentionMsOf(task.accountId)
  await records.addStoredFile({
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
  })
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

/** Lets another run try again later, at the deadline at the latest. */
const retryLater = async (
  { postgres, wakePoller }: StoreDependencies,
  open: OpenTask,
  afterMs: number,
): Promise<Stored> => {
  const untilDeadlineMs = Math.max(5_000, open.deadlineMs - performance.now())
  await leaveToPollLoop(postgres, open, Math.min(afterMs, untilDeadlineMs))
  wakePoller(open.provider, open.taskId)
  return { kind: 'stop' }
}

/** The number of the next try, as if the waits had doubled since the outcome. So tries need not be counted. */
const nextTryAfter = (waitedMs: number): number =>
  backoffStart + Math.floor(Math.log2(1 + waitedMs / backoffStartMs))

export const storeResult = async (
  dependencies: StoreDependencies,
  taskId: string,
  run: number,
): Promise<Stored> => {
  const { postgres, records, downloadPermits, log } = dependencies
  const current = await records.findStoringRun({ taskId, run })
  if (current === undefined) return { kind: 'stop' }
  const { open, task, isStored } = current
  // The run may have been interrupted after it stored the video.
  if (isStored) return { kind: 'completed', mediaId: locationOf(task).mediaId }
  // The run was started by mistake, for example because the engine seemed to have lost an earlier one.
  if (open.outcome === null && !open.isOverdue) return retryLater(dependencies, open, 0)
  const outcome = open.outcome ?? (await pollOnceMore(dependencies, open))
  if (outcome === undefined) return failed('task_timeout')
  if (outcome.kind === 'refused') return failed(outcome.code, outcome.message)

  const release = await downloadPermits.acquire(open.provider)
  if (release === undefined) {
    log.debug({ taskId, provider: open.provider }, 'video.store-postponed')
    if (performance.now() > open.deadlineMs + permitGraceMs) return failed('task_timeout')
    return retryLater(dependencies, open, downloadPermits.nextTryMs(open.provider))
  }
  let downloaded: DownloadResult = 'undecided'
  const superseded = new AbortController()
  const checks = setInterval(() => {
    isCurrentRun(postgres, { taskId, run }).then(
      (isCurrent) => {
        // The task has ended, for example because it was cancelled, or a newer run stores its result.
        if (!isCurrent) superseded.abort()
      },
      (error: unknown) => log.warn({ err: error, taskId }, 'video.check-failed'),
    )
  }, checkEveryMs)
  try {
    const result = outcome.result as Opaque
    const ending = await fetchAndStore(dependencies, open, task, result, superseded.signal)
    downloaded = 'succeeded'
    return ending
  } catch (error) {
    if (superseded.signal.aborted) return { kind: 'stop' }
    log.warn({ err: error, taskId, provider: open.provider }, 'video.store-failed')
    // A result that the provider refuses after the grace time is gone. Any other failure is retried until the deadline.
    const waitedMs = performance.now() - (open.outcomeAtMs ?? -Infinity)
    const failure = error instanceof ProviderFailure ? error : undefined
    const isRefused = failure?.kind === 'rejected'
    if (failure !== undefined && !isRefused) downloaded = 'failed'
    const isGone = isRefused && (waitedMs > resultGraceMs || open.isOverdue)
    if (!isGone && !open.isOverdue)
      return await retryLater(dependencies, open, backoffMs(nextTryAfter(waitedMs), failure?.retryAfterMs))
    if (failure !== undefined) await recordFailure(postgres, open, failure.message)
    return failed(isGone ? 'upstream_error' : 'task_timeout')
  } finally {
    clearInterval(checks)
    release(downloaded)
  }
}

/**
 * The store step of a run: reads the outcome of the job and stores its video. The task is completed only when the bytes
 * are stored, hashed and verified to be a playable video.
 *
 * A download that cannot start within a moment, or fails, is not waited for or thrown, because the run would keep its slot of
 * the engine: the step records when to try again, and the poll loop starts another run then.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import { taskErrors, type TaskErrorCode } from '@kinora/contract/task-errors'

import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { atWatchedRate, watchRate, type MinimumRate } from '../../platform/streams/minimum-rate.ts'
import { withSpan } from '../../platform/tracing/tracing.ts'
import { ProviderFailure, ResultTooLarge, resultBytesMax } from '../../providers/port/failure.ts'
import { videoOf, type Provider, type Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import { backoffMs } from '../../routing/backoff.ts'
import { createArrivingCheck } from '../../storage/check-arriving.ts'
import { FileTooLarge, type MediaStore, type ReceivedFile } from '../../storage/port/media-store.ts'
import type { ProbeVideo } from '../../storage/probe-video.ts'
import { whileCurrent } from '../../tasks/while-current.ts'
import { atPace, type DownloadPace } from '../download-pace.ts'
import type { DownloadPermit, DownloadPermits } from '../download-permits.ts'
import { leaveToPollLoop, recordOutcome, type OpenTask, type StoringRun } from '../open-task-store.ts'
import type { DurationLearner } from '../polling/duration-learner.ts'
import type { TaskKind } from '../polling/task-duration-store.ts'
import { recordJobFailures } from '../task-attempt-store.ts'
import { videoTables, type Ending, type Outcome, type VideoTask } from '../task.ts'
import type { StepRecords } from './step-records.ts'
import { traceStep } from './trace-video.ts'

export interface StoreDependencies {
  postgres: Postgres
  records: Pick<StepRecords, 'findStoringRun' | 'addStoredFile'>
  providers: Providers
  mediaStore: MediaStore
  probeVideo: ProbeVideo
  /** How long the results of an account are retained. */
  retentionMsOf: (accountId: string) => Promise<number>
  downloadPermits: DownloadPermits
  /** How fast results are downloaded at most. */
  downloadPace: DownloadPace
  downloadRate: MinimumRate
  /** A slower download loses its place to others. */
  slowDownloadRate: MinimumRate
  wakePoller: (provider: string, taskId: string) => void
  /** Aborted when this worker begins to stop. */
  stopping: AbortSignal
  /** Adds the time from the submit of a task until its result was stored. */
  learnDuration: DurationLearner<TaskKind>['learn']
  log: Log
}

/** `stop`: this run has nothing more to do. */
export type Stored = Ending | { kind: 'stop' }

/** How often a download checks that its task still needs it. */
const checkEveryMs = 5_000
// Some vendors report a video as done shortly before it can be downloaded.
const resultGraceMs = 120_000
// A result that came just before the deadline has some time to find a permit.
const permitGraceMs = 30_000
// A result that is written around the deadline has some time for that.
const storeGraceMs = 120_000
// A longer timeout would end at once.
const timeoutMsMax = 2 ** 31 - 1
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

/** A download that was empty, incomplete, damaged or something else. The provider may send the video at the next try. */
class UnplayableResult extends ProviderFailure {
  constructor(sizeBytes: number) {
    super('unknown', `the result of ${sizeBytes} bytes is not a playable video`)
  }
}

interface Download {
  provider: Provider
  open: OpenTask
  result: Opaque
  permit: DownloadPermit
  superseded: AbortSignal
}

/**
 * Receives a result, and checks its packets meanwhile if possible. A download below the minimum rate, or one that is slow while
 * others wait, is aborted.
 */
const download = async (
  { mediaStore, downloadPace, downloadRate, slowDownloadRate }: StoreDependencies,
  storageKey: string,
  { provider, open, result, permit, superseded }: Download,
): Promise<{ received: ReceivedFile; packetsAreIntact: boolean | undefined }> => {
  const tooSlow = new AbortController()
  const giveUp = (reason: string) =>
    tooSlow.abort(new ProviderFailure('unknown', `download was aborted: ${reason}`))
  const signal = AbortSignal.any([
    superseded,
    tooSlow.signal,
    AbortSignal.timeout(provider.timeoutsMs.download),
  ])
  const opening = setTimeout(() => giveUp('no byte within a minute'), openingTimeoutMs)
  const slowRate = watchRate(slowDownloadRate, () => {
    if (!permit.mayStaySlow()) giveUp('others wait, and it is slow')
  })
  try {
    const source = await videoOf(provider).openResult(open.upstream as Opaque, result, signal)
    clearTimeout(opening)
    const rate = watchRate(downloadRate, () =>
      giveUp(`less than ${downloadRate.bytesPerSecondMin} bytes per second`),
    )
    const watched = atWatchedRate(atWatchedRate(source, slowRate), rate)
    // The wait for its pace is not the fault of the sender.
    const paced = atPace(watched, downloadPace, open.provider, signal)
    const check = createArrivingCheck()
    try {
      const received = await mediaStore.receive(storageKey, Readable.from(paced, { objectMode: false }), {
        sizeBytesMax: resultBytesMax,
        signal: superseded,
        onChunk: check.add,
      })
      return { received, packetsAreIntact: check.packetsAreIntact() }
    } finally {
      rate.stop()
      // It has not been read to its end if the storage failed.
      source.destroy()
    }
  } catch (error) {
    if (error instanceof FileTooLarge) throw new ResultTooLarge('download')
    throw tooSlow.signal.aborted ? tooSlow.signal.reason : error
  } finally {
    clearTimeout(opening)
    slowRate.stop()
  }
}

/** Ends a write to the store at the deadline of the task. A result that came late has some time too. */
const untilDeadline = ({ open, superseded }: Download): AbortSignal => {
  const leftMs = Math.max(storeGraceMs, open.deadlineMs - performance.now())
  return AbortSignal.any([superseded, AbortSignal.timeout(Math.min(Math.ceil(leftMs), timeoutMsMax))])
}

const fetchAndStore = async (
  dependencies: StoreDependencies,
  task: VideoTask,
  wanted: Download,
): Promise<Ending> => {
  const { records, probeVideo, retentionMsOf, learnDuration } = dependencies
  const { mediaId, storageKey } = locationOf(task)
  const { received, packetsAreIntact } = await withSpan('download', {}, () =>
    download(dependencies, storageKey, wanted),
  )
  const { sizeBytes, sha256 } = received
  let probed: Awaited<ReturnType<ProbeVideo>>
  try {
    probed = await withSpan('check', {}, () => probeVideo(received.path, undefined, packetsAreIntact))
    if (probed === undefined) throw new UnplayableResult(sizeBytes)
  } catch (error) {
    await received.discard()
    throw error
  }
  const keep = () => received.keep({ signal: untilDeadline(wanted) })
  await withSpan('save', { 'kinora.media.size': sizeBytes }, keep)
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
  const { seconds, width, height } = task.order
  learnDuration(
    { provider: wanted.open.provider, model: task.model, seconds, pixels: width * height },
    Date.now() - task.statusUpdatedAt.getTime(),
  )
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
  { hasDownloadFailed = false } = {},
): Promise<Stored> => {
  const untilDeadlineMs = Math.max(5_000, open.deadlineMs - performance.now())
  await leaveToPollLoop(postgres, open, { waitMs: Math.min(afterMs, untilDeadlineMs), hasDownloadFailed })
  wakePoller(open.provider, open.taskId)
  return { kind: 'stop' }
}

/** The number of the next try, as if the waits had doubled since the outcome. So tries need not be counted. */
const nextTryAfter = (waitedMs: number): number =>
  backoffStart + Math.floor(Math.log2(1 + waitedMs / backoffStartMs))

/** How a task ends after a download that failed; undefined if the download is tried again, until the deadline. */
const findEnding = (
  { isOverdue }: OpenTask,
  waitedMs: number,
  failure: ProviderFailure | undefined,
): Ending | undefined => {
  if (failure instanceof ResultTooLarge)
    return failed('upstream_error', 'The provider delivered a file that is too large.')
  // A result that the provider refuses after the grace time is gone.
  if (failure?.kind === 'rejected' && (waitedMs > resultGraceMs || isOverdue)) return failed('upstream_error')
  if (!isOverdue) return undefined
  return failure instanceof UnplayableResult
    ? failed('upstream_error', 'The provider delivered a file that is not a playable video.')
    : failed('task_timeout')
}

const storeOnce = async (
  dependencies: StoreDependencies,
  { open, task, isStored }: StoringRun,
): Promise<Stored> => {
  const { postgres, providers, downloadPermits, stopping, log } = dependencies
  const { taskId, run } = open
  // The run may have been interrupted after it stored the video.
  if (isStored) return { kind: 'completed', mediaId: locationOf(task).mediaId }
  // The run was started by mistake, for example because the engine seemed to have lost an earlier one.
  if (open.outcome === null && !open.isOverdue) return retryLater(dependencies, open, 0)
  const outcome = open.outcome ?? (await pollOnceMore(dependencies, open))
  if (outcome === undefined) return failed('task_timeout')
  if (outcome.kind === 'refused') return failed(outcome.code, outcome.message)

  const request = { provider: open.provider, isRetry: open.failedDownloads > 0 }
  const permit = await downloadPermits.acquire(request)
  if (permit === undefined) {
    log.debug({ taskId, provider: open.provider }, 'video.store-postponed')
    if (performance.now() > open.deadlineMs + permitGraceMs) return failed('task_timeout')
    return retryLater(dependencies, open, downloadPermits.nextTryMs(request))
  }
  const watched = { postgres, log, tables: videoTables, stopping }
  return whileCurrent(watched, { taskId, run }, { checkEveryMs }, async (superseded) => {
    let hasSucceeded = false
    try {
      const ending = await fetchAndStore(dependencies, task, {
        ...{ provider: providers.get(open.provider), open, permit },
        ...{ result: outcome.result as Opaque, superseded },
      })
      hasSucceeded = true
      return ending
    } catch (error) {
      // The engine gives the run to another worker, which downloads the result from the start.
      stopping.throwIfAborted()
      if (superseded.aborted) return { kind: 'stop' }
      log.warn({ err: error, taskId, provider: open.provider }, 'video.store-failed')
      const failure = error instanceof ProviderFailure ? error : undefined
      const waitedMs = performance.now() - (open.outcomeAtMs ?? -Infinity)
      const ending = findEnding(open, waitedMs, failure)
      if (ending === undefined) {
        const afterMs = backoffMs(nextTryAfter(waitedMs), failure?.retryAfterMs)
        return await retryLater(dependencies, open, afterMs, { hasDownloadFailed: failure !== undefined })
      }
      if (failure !== undefined) await recordFailure(postgres, open, failure.message)
      return ending
    } finally {
      permit.release(hasSucceeded)
    }
  })
}

/** `runStartedMs` is given if this is the first step of its run. */
export const storeResult = async (
  dependencies: StoreDependencies,
  taskId: string,
  run: number,
  runStartedMs?: number,
): Promise<Stored> => {
  const current = await dependencies.records.findStoringRun({ taskId, run })
  if (current === undefined) return { kind: 'stop' }
  return traceStep('store', current.open, runStartedMs, () => storeOnce(dependencies, current))
}

/**
 * Polls the running jobs of a provider, with one loop per provider and shard, and starts the run that stores the result of a
 * job: at its outcome, at the deadline of the task, and again if a download has to be repeated.
 *
 * Why durable: one loop per credential stays within its polling budget, and continues on another worker if its own dies.
 * Why not in each task: every poll would be a journaled step. One tick polls every job that is due. An outcome is recorded
 * together with the run that stores the result, before the engine is told to start it. A failed poll never fails a task; only a definite outcome or the deadline does.
 *
 * A tick must be short, because the engine gives a tick that takes too long to another worker. Polls that a slow provider
 * has not answered by then go on, and are recorded when they end.
 */
import { setTimeout as pause } from 'node:timers/promises'

import type { Catalog } from '../../models/catalog.ts'
import { loop, type Ticked } from '../../platform/engine/loop.ts'
import type { Engine } from '../../platform/engine/restate.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import type { Log } from '../../platform/log.ts'
import { count } from '../../platform/metrics/metrics.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { inTask } from '../../platform/tracing/tracing.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import type { Router } from '../../routing/route.ts'
import type { DownloadPermits, DownloadRequest } from '../download-permits.ts'
import { parseShardKey } from '../shard.ts'
import { recordJobFailures } from '../task-attempt-store.ts'
import { runsPerCall, startOf } from '../video-run.ts'
import type { JobDurations } from './job-durations.ts'
import { afterFailureMs, estimateProgress, nextPollDelayMs } from './poll-schedule.ts'
import { findDuePolls, nextPollInMs, recordPolls, type DuePoll, type PollResult } from './poll-store.ts'

export const pollJobsName = 'pollJobs'

export interface PollDependencies {
  postgres: Postgres
  providers: Providers
  engine: Engine
  catalog: Catalog
  jobDurations: Pick<JobDurations, 'of' | 'learn'>
  router: Pick<Router, 'report'>
  /** Of this worker, as an estimate for all: a run without a permit would have to be repeated later. */
  downloadPermits: Pick<DownloadPermits, 'mayStart' | 'nextTryMs'>
  /** Notifies watchers that these tasks have changed. */
  announce: (taskIds: string[]) => void
  log: Log
}

const pollsPerTick = 500
const pollsAtOnce = 16
const pollingMsMax = 2_500
// After so many failures in a row the provider counts as down for this tick, and its other jobs are not polled.
const failuresInRowMax = 16
const idleMs = 15_000
const soonMs = 50
// A provider may not list a job right after accepting it, so "no such job" counts only after this time.
const missingGraceMs = 120_000

/** The result of a poll, with the provider's reason if the job failed. */
interface Polled extends PollResult {
  reason?: string
}

const starting = { startsRun: true, nextPollMs: 0 }

/** Starts a run that downloads the result if it will get a permit; otherwise the next tick may. */
const startIfPermitted = ({ downloadPermits }: PollDependencies, request: DownloadRequest) =>
  downloadPermits.mayStart(request) ? starting : { nextPollMs: downloadPermits.nextTryMs(request) }

const pollOne = async (
  dependencies: PollDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DuePoll,
): Promise<Polled> => {
  const { catalog, jobDurations, log } = dependencies
  const result = { taskId: due.taskId, day: due.day, progress: null, outcome: null }
  const durations = jobDurations.of(provider.name, due.model)
  const delayMs = nextPollDelayMs(provider, due.elapsedMs, durations)
  const signal = AbortSignal.timeout(provider.timeoutsMs.poll)
  const status = await video.poll(due.upstream as Opaque, signal)
  switch (status.kind) {
    case 'running': {
      const estimate = () => estimateProgress(due.elapsedMs, catalog.usualSeconds(due.model), durations)
      return {
        ...result,
        progress: Math.floor(status.progress ?? estimate()),
        nextPollMs: Math.max(status.pollAfterMs ?? 0, delayMs),
      }
    }
    case 'done':
      jobDurations.learn(provider.name, due.model, due.elapsedMs)
      return {
        ...result,
        outcome: { kind: 'done', result: status.result },
        ...startIfPermitted(dependencies, { provider: provider.name, isRetry: false }),
      }
    case 'refused':
      // The provider's message may quote the prompt. It is stored with the task's attempts, for operators only; callers get
      // the text of the error code.
      log.info({ taskId: due.taskId, provider: provider.name, code: status.code }, 'job.refused')
      return {
        ...result,
        outcome: { kind: 'refused', code: status.code, message: '' },
        ...starting,
        reason: status.message,
      }
    case 'missing':
      if (due.elapsedMs < missingGraceMs) {
        return {
          ...result,
          nextPollMs: nextPollDelayMs({ ...provider, sendsWebhooks: false }, due.elapsedMs, durations),
        }
      }
      return {
        ...result,
        outcome: { kind: 'refused', code: 'upstream_error', message: '' },
        ...starting,
        reason: 'the provider no longer knows the job',
      }
  }
}

const hasEnded = ({ isOverdue, outcome }: DuePoll) => isOverdue || outcome !== null

/** Polls a job; a failure postpones the next poll. */
const createPollOne = (dependencies: PollDependencies, provider: Provider, video: VideoProvider) => {
  const { log, router } = dependencies
  let failuresInRow = 0
  const pollIfDue = async (due: DuePoll): Promise<Polled> => {
    // At the deadline the run polls the job once more.
    if (due.isOverdue || due.outcome?.kind === 'refused') return { ...postponed(due, 0), ...starting }
    if (due.outcome !== null) {
      const request = { provider: provider.name, isRetry: due.isRetry }
      return { ...postponed(due, 0), ...startIfPermitted(dependencies, request) }
    }
    if (due.upstream === null) return { ...postponed(due, idleMs), dueAt: due.dueAt }
    const afterFailure = (retryAfterMs?: number) => ({
      ...postponed(due, afterFailureMs(retryAfterMs, provider.pollIntervalMs)),
      dueAt: due.dueAt,
    })
    if (failuresInRow >= failuresInRowMax) return afterFailure()
    try {
      const result = await pollOne(dependencies, provider, video, due)
      failuresInRow = 0
      return { ...result, isPoll: true, dueAt: due.dueAt }
    } catch (error) {
      failuresInRow += 1
      log.info({ err: error, taskId: due.taskId, provider: provider.name }, 'poll.failed')
      count('kinora.task.retries', { kind: 'video', stage: 'poll' })
      // A 403 may concern this job alone, for instance one created with an earlier key of another account.
      if (error instanceof ProviderFailure && error.kind === 'unauthorized' && error.status !== 403) {
        router.report(provider.name, due.model, error.kind)
      }
      const retryAfterMs = error instanceof ProviderFailure ? error.retryAfterMs : undefined
      return { ...afterFailure(retryAfterMs), isPoll: true }
    }
  }
  return (due: DuePoll) => inTask(due, () => pollIfDue(due))
}

const postponed = ({ taskId, day }: DuePoll, nextPollMs: number): PollResult => ({
  ...{ taskId, day, progress: null, outcome: null },
  nextPollMs,
})

/** Polls that are under way at the end of their tick, by the key of the loop. */
type LatePolls = Map<string, number>

interface PolledInTime {
  results: Polled[]
  /** Whether some jobs that are due were not polled. */
  isIncomplete: boolean
}

/** Polls the due jobs, some at a time, for as long as a tick may take. */
const pollInTime = async (
  due: DuePoll[],
  atOnce: number,
  poll: (due: DuePoll) => Promise<Polled>,
  onLate: (result: Promise<Polled>, due: DuePoll) => Polled,
): Promise<PolledInTime> => {
  const results: Polled[] = []
  const underWay = new Map<DuePoll, Promise<Polled>>()
  let next = 0
  let isOver = false
  const pollNext = async () => {
    while (!isOver && next < due.length) {
      const each = due[next]
      next += 1
      if (each === undefined) return
      const polling = poll(each)
      underWay.set(each, polling)
      const result = await polling
      if (isOver) return
      underWay.delete(each)
      results.push(result)
    }
  }
  const ended = new AbortController()
  await Promise.race([
    Promise.all(Array.from({ length: Math.min(atOnce, due.length) }, pollNext)),
    pause(pollingMsMax, undefined, { signal: ended.signal }).catch(() => undefined),
  ])
  ended.abort()
  isOver = true
  for (const [each, polling] of underWay) results.push(onLate(polling, each))
  return { results, isIncomplete: next < due.length }
}

const recordResults = async (
  { postgres, announce, log }: PollDependencies,
  provider: string,
  results: Polled[],
): Promise<Run[]> => {
  // Reasons are written before outcomes, so that an operator finds the reason of every failed task. A failed write does
  // not delay the tasks.
  await recordJobFailures(
    postgres,
    results.flatMap(({ taskId, day, reason }) =>
      reason === undefined ? [] : { taskId, day, provider, reason },
    ),
  ).catch((error: unknown) => log.warn({ err: error, provider }, 'failure-reasons.record-failed'))
  const { runs, advanced } = await recordPolls(postgres, results)
  announce(advanced)
  return runs
}

const pollDueJobs = async (
  dependencies: PollDependencies,
  key: string,
  latePolls: LatePolls,
): Promise<Ticked> => {
  const { postgres, providers, engine, log } = dependencies
  const { provider: name, shard } = parseShardKey(key)
  const provider = providers.find(name)
  if (provider?.video === undefined) return { nextMs: idleMs }
  const found = await findDuePolls(postgres, name, shard, provider.shards, pollsPerTick)
  // First those that need no poll, so that a provider that does not respond delays none of them.
  const { true: ended = [], false: running = [] } = Object.groupBy(found, (each) => String(hasEnded(each)))
  const due = [...ended, ...running]
  const late = () => latePolls.get(key) ?? 0

  /** Records a late result, and lets the job be polled by another tick only if this process should die. */
  const onLate = (polling: Promise<Polled>, each: DuePoll): Polled => {
    latePolls.set(key, late() + 1)
    const record = async () => {
      const { dueAt: _, startsRun: __, ...result } = await polling
      const isDone = result.outcome !== null
      // The next tick starts the run. Without an outcome, a webhook that arrived meanwhile decides.
      await recordResults(dependencies, name, [
        { ...result, ...(isDone ? { nextPollMs: 0 } : { isLate: true }) },
      ])
      if (isDone) engine.wake(pollJobsName, key)
    }
    record()
      .catch((error: unknown) => log.warn({ err: error, taskId: each.taskId }, 'poll.not-recorded'))
      .finally(() => latePolls.set(key, late() - 1))
    return { ...postponed(each, provider.timeoutsMs.poll), dueAt: each.dueAt }
  }
  const { results, isIncomplete } = await pollInTime(
    due,
    Math.max(1, pollsAtOnce - late()),
    createPollOne(dependencies, provider, provider.video),
    onLate,
  )
  const runs = await recordResults(dependencies, name, results)
  const starts = runs.map((run) => startOf(run, { jobHasEnded: true }))
  if (isIncomplete || due.length >= pollsPerTick) return { nextMs: soonMs, starts }
  const nextMs = await nextPollInMs(postgres, name, shard, provider.shards)
  return { nextMs: Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs))), starts }
}

export const pollJobs = (dependencies: PollDependencies, steps: RunningSteps) => {
  const latePolls: LatePolls = new Map()
  const tick = (key: string) => pollDueJobs(dependencies, key, latePolls)
  return loop(pollJobsName, steps, tick, { runsPerCall })
}

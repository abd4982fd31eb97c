/**
 * Polls the running jobs of a provider and notifies each task of its outcome, with one loop per provider and shard.
 *
 * Why durable: one loop per credential stays within its polling budget, and continues on another worker if its own dies.
 * Why not in each task: every poll would be a journaled step. One tick polls every job that is due. An outcome is stored
 * before its workflow is notified, and the notification is repeated until the task moves on. A failed poll never fails a
 * task; only a definite outcome or the deadline does.
 */
import type { Catalog } from '../../models/catalog.ts'
import { recordTick } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import type { Router } from '../../routing/route.ts'
import { parseShardKey } from '../shard.ts'
import { recordJobFailures } from '../task-attempt-store.ts'
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
  /** Notifies watchers that these tasks have changed. */
  announce: (taskIds: string[]) => void
  log: Log
}

const pollsPerTick = 500
const pollsAtOnce = 16
// After so many failures in a row the provider counts as down for this tick, and its other jobs are not polled.
const failuresInRowMax = 16
const idleMs = 15_000
const soonMs = 50
const notifyAgainMs = 2_000
// A provider may not list a job right after accepting it, so "no such job" counts only after this time.
const missingGraceMs = 120_000

/** The result of a poll, with the provider's reason if the job failed. */
interface Polled extends PollResult {
  reason?: string
}

const pollOne = async (
  { catalog, jobDurations, log }: PollDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DuePoll,
): Promise<Polled> => {
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
      return { ...result, outcome: { kind: 'done', result: status.result }, nextPollMs: notifyAgainMs }
    case 'refused':
      // The provider's message is for operators only; callers get the text of the error code.
      log.info(
        { taskId: due.taskId, provider: provider.name, code: status.code, reason: status.message },
        'job.refused',
      )
      return {
        ...result,
        outcome: { kind: 'refused', code: status.code, message: '' },
        nextPollMs: notifyAgainMs,
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
        nextPollMs: notifyAgainMs,
        reason: 'the provider no longer knows the job',
      }
  }
}

/** Polls the due jobs, some at a time, until the provider counts as down. */
const pollAll = async (
  dependencies: PollDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DuePoll[],
): Promise<Polled[]> => {
  const { log, router } = dependencies
  const results: Polled[] = []
  let next = 0
  let failuresInRow = 0
  const postponed = ({ taskId, day }: DuePoll, retryAfterMs: number | undefined): PollResult => ({
    ...{ taskId, day, progress: null, outcome: null },
    nextPollMs: afterFailureMs(retryAfterMs, provider.pollIntervalMs),
  })
  const resultOf = async (each: DuePoll): Promise<Polled> => {
    if (each.outcome !== null) return { ...postponed(each, undefined), nextPollMs: notifyAgainMs }
    if (failuresInRow >= failuresInRowMax) return postponed(each, undefined)
    try {
      const result = await pollOne(dependencies, provider, video, each)
      failuresInRow = 0
      return result
    } catch (error) {
      failuresInRow += 1
      log.info({ err: error, taskId: each.taskId, provider: provider.name }, 'poll.failed')
      // A 403 may concern this job alone, for instance one created with an earlier key of another account.
      if (error instanceof ProviderFailure && error.kind === 'unauthorized' && error.status !== 403) {
        router.report(provider.name, each.model, error.kind)
      }
      return postponed(each, error instanceof ProviderFailure ? error.retryAfterMs : undefined)
    }
  }
  const pollNext = async () => {
    for (let index = next++; index < due.length; index = next++) {
      const each = due[index]
      if (each !== undefined) results[index] = { ...(await resultOf(each)), dueAt: each.dueAt }
    }
  }
  await Promise.all(Array.from({ length: Math.min(pollsAtOnce, due.length) }, pollNext))
  return results
}

const pollDueJobs = async (dependencies: PollDependencies, key: string): Promise<number> => {
  const { postgres, providers, engine, announce, log } = dependencies
  const { provider: name, shard } = parseShardKey(key)
  const provider = providers.find(name)
  if (provider?.video === undefined) return idleMs
  await recordTick(postgres, pollJobsName, key)
  const due = await findDuePolls(postgres, name, shard, provider.shards, pollsPerTick)
  const results = await pollAll(dependencies, provider, provider.video, due)
  // Reasons are written before outcomes, so that an operator finds the reason of every failed task. A failed write does
  // not delay the tasks.
  await recordJobFailures(
    postgres,
    results.flatMap(({ taskId, day, reason }) =>
      reason === undefined ? [] : { taskId, day, provider: name, reason },
    ),
  ).catch((error: unknown) => log.warn({ err: error, provider: name }, 'failure-reasons.record-failed'))
  await recordPolls(postgres, results)
  announce(results.flatMap(({ taskId, progress }) => (progress === null ? [] : taskId)))
  const withOutcome = due.filter(
    (each, index) => each.awakeable !== null && (each.outcome ?? results[index]?.outcome) !== null,
  )
  const notified = await Promise.allSettled(
    withOutcome.map(({ awakeable }) => engine.resolveAwakeable(awakeable ?? '')),
  )
  const failed = notified.filter(({ status }) => status === 'rejected').length
  if (failed > 0) log.warn({ provider: name, failed }, 'task.notify-failed')
  if (due.length >= pollsPerTick) return soonMs
  const nextMs = await nextPollInMs(postgres, name, shard, provider.shards)
  return Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const pollJobs = (dependencies: PollDependencies, suspendAfterMs: number) =>
  loop(pollJobsName, suspendAfterMs, (key) => pollDueJobs(dependencies, key))

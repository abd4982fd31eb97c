/**
 * Checks the jobs that providers work on and brings each task its news, one loop per provider and shard.
 *
 * Why durable: one watcher per credential keeps within its polling budget, and a dead worker's watch goes on
 * elsewhere. Why not in each task: a poll per task would be a journaled step each. One turn checks every job
 * that is due. An outcome is written down before its task is told, and told again until the task has moved.
 * A failing check never fails a task; only the provider's definite word or the deadline does.
 */
import type { Catalog } from '../../models/catalog.ts'
import { noteTick } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import type { Router } from '../../routing/route.ts'
import {
  findDuePolls,
  nextPollInMs,
  recordPolls,
  recordJobFailures,
  type PollNote,
  type DuePoll,
} from '../open-task-store.ts'
import { parseShardKey } from '../shard.ts'
import type { JobDurations } from './job-durations.ts'
import { afterFailureMs, estimateProgress, nextLookMs } from './poll-schedule.ts'

export const pollJobsName = 'pollJobs'

export interface PollDependencies {
  postgres: Postgres
  providers: Providers
  engine: Engine
  catalog: Catalog
  pace: Pick<JobDurations, 'of' | 'learn'>
  router: Pick<Router, 'report'>
  /** Tells watchers that there is something new to read of these tasks. */
  announce: (taskIds: string[]) => void
  log: Log
}

const pollsPerTick = 500
const pollsAtOnce = 16
// So many failures in a row say that the provider is away; asking about its other jobs would only be more of the same.
const failuresInRowMax = 16
const idleMs = 15_000
const soonMs = 50
const tellAgainMs = 2_000
// A provider may not show a job right after taking it; only after this does "no such job" count.
const missingGraceMs = 120_000

/** What a check found, and the provider's reason where it ended the job without a video. */
interface Polled extends PollNote {
  reason?: string
}

const pollOne = async (
  { catalog, pace, log }: PollDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DuePoll,
): Promise<Polled> => {
  const note = { taskId: due.taskId, day: due.day, progress: null, outcome: null }
  const usual = pace.of(provider.name, due.model)
  const again = nextLookMs(provider, due.elapsedMs, usual)
  const signal = AbortSignal.timeout(provider.timeoutsMs.poll)
  const status = await video.poll(due.upstream as Opaque, signal)
  switch (status.kind) {
    case 'running': {
      const estimate = () => estimateProgress(due.elapsedMs, catalog.usualSeconds(due.model), usual)
      return {
        ...note,
        progress: Math.floor(status.progress ?? estimate()),
        nextPollMs: Math.max(status.pollAfterMs ?? 0, again),
      }
    }
    case 'done':
      pace.learn(provider.name, due.model, due.elapsedMs)
      return { ...note, outcome: { kind: 'done', result: status.result }, nextPollMs: tellAgainMs }
    case 'refused':
      // The provider's own words are for the operator; the caller gets ours.
      log.info(
        { taskId: due.taskId, provider: provider.name, code: status.code, said: status.message },
        'job.refused',
      )
      return {
        ...note,
        outcome: { kind: 'refused', code: status.code, message: '' },
        nextPollMs: tellAgainMs,
        reason: status.message,
      }
    case 'missing':
      if (due.elapsedMs < missingGraceMs) {
        return {
          ...note,
          nextPollMs: nextLookMs({ ...provider, sendsWebhooks: false }, due.elapsedMs, usual),
        }
      }
      return {
        ...note,
        outcome: { kind: 'refused', code: 'upstream_error', message: '' },
        nextPollMs: tellAgainMs,
        reason: 'the provider no longer knows the job',
      }
  }
}

/** Checks what is due, so many jobs at a time, until it is plain that the provider is away. */
const pollAll = async (
  dependencies: PollDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DuePoll[],
): Promise<Polled[]> => {
  const { log, router } = dependencies
  const notes: Polled[] = []
  let next = 0
  let failuresInRow = 0
  const putOff = ({ taskId, day }: DuePoll, retryAfterMs: number | undefined): PollNote => ({
    ...{ taskId, day, progress: null, outcome: null },
    nextPollMs: afterFailureMs(retryAfterMs, provider.pollIntervalMs),
  })
  const noteOf = async (each: DuePoll): Promise<Polled> => {
    if (each.outcome !== null) return { ...putOff(each, undefined), nextPollMs: tellAgainMs }
    if (failuresInRow >= failuresInRowMax) return putOff(each, undefined)
    try {
      const note = await pollOne(dependencies, provider, video, each)
      failuresInRow = 0
      return note
    } catch (error) {
      failuresInRow += 1
      log.info({ err: error, taskId: each.taskId, provider: provider.name }, 'poll.failed')
      // A 403 may be about this job alone, such as one that was made with an earlier key of another account.
      if (error instanceof ProviderFailure && error.kind === 'unauthorized' && error.status !== 403) {
        router.report(provider.name, each.model, error.kind)
      }
      return putOff(each, error instanceof ProviderFailure ? error.retryAfterMs : undefined)
    }
  }
  const lane = async () => {
    for (let index = next++; index < due.length; index = next++) {
      const each = due[index]
      if (each !== undefined) notes[index] = { ...(await noteOf(each)), dueAt: each.dueAt }
    }
  }
  await Promise.all(Array.from({ length: Math.min(pollsAtOnce, due.length) }, lane))
  return notes
}

const watch = async (dependencies: PollDependencies, key: string): Promise<number> => {
  const { postgres, providers, engine, announce, log } = dependencies
  const { provider: name, shard } = parseShardKey(key)
  const provider = providers.find(name)
  if (provider?.video === undefined) return idleMs
  await noteTick(postgres, pollJobsName, key)
  const due = await findDuePolls(postgres, name, shard, provider.shards, pollsPerTick)
  const notes = await pollAll(dependencies, provider, provider.video, due)
  // Before the outcome, which ends the task: an operator who sees it failed finds the reason. A reason that cannot be
  // written holds up no task.
  await recordJobFailures(
    postgres,
    notes.flatMap(({ taskId, day, reason }) =>
      reason === undefined ? [] : { taskId, day, provider: name, reason },
    ),
  ).catch((error: unknown) => log.warn({ err: error, provider: name }, 'failure-reasons.not-recorded'))
  await recordPolls(postgres, notes)
  announce(notes.flatMap(({ taskId, progress }) => (progress === null ? [] : taskId)))
  const told = due.filter(
    (each, index) => each.awakeable !== null && (each.outcome ?? notes[index]?.outcome) !== null,
  )
  const telling = await Promise.allSettled(
    told.map(({ awakeable }) => engine.resolveAwakeable(awakeable ?? '')),
  )
  const missed = telling.filter(({ status }) => status === 'rejected').length
  if (missed > 0) log.warn({ provider: name, missed }, 'task.not-notified')
  if (due.length >= pollsPerTick) return soonMs
  const nextMs = await nextPollInMs(postgres, name, shard, provider.shards)
  return Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const pollJobs = (dependencies: PollDependencies, suspendAfterMs: number) =>
  loop(pollJobsName, suspendAfterMs, (key) => watch(dependencies, key))

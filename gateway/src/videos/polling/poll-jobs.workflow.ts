/**
 * Checks the jobs that providers work on and brings each task its news, one loop per provider and shard.
 *
 * Why durable: one watcher per credential keeps within its polling budget, and a dead worker's watch goes on
 * elsewhere. Why not in each task: a poll per task would be a journaled step each. One turn checks every job
 * that is due. An outcome is written down before its task is told, and told again until the task has moved.
 * A failing check never fails a task; only the provider's definite word or the deadline does.
 */
import type { Catalog } from '../../models/catalog.ts'
import { noteTurn } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import type { Router } from '../../routing/route.ts'
import {
  findDueChecks,
  nextCheckInMs,
  recordChecks,
  recordJobFailures,
  type CheckNote,
  type DueCheck,
} from '../open-task-store.ts'
import { parseShardKey } from '../shard.ts'
import type { Paces } from './job-durations.ts'
import { afterFailureMs, estimateProgress, nextLookMs } from './poll-schedule.ts'

export const watchUpstreamName = 'watchUpstream'

export interface WatchDependencies {
  postgres: Postgres
  providers: Providers
  engine: Engine
  catalog: Catalog
  pace: Pick<Paces, 'of' | 'learn'>
  router: Pick<Router, 'report'>
  /** Tells watchers that there is something new to read of these tasks. */
  announce: (taskIds: string[]) => void
  log: Log
}

const checksPerTurn = 500
const checksAtOnce = 16
// So many failures in a row say that the provider is away; asking about its other jobs would only be more of the same.
const failuresInRowMax = 16
const idleMs = 15_000
const soonMs = 50
const tellAgainMs = 2_000
// A provider may not show a job right after taking it; only after this does "no such job" count.
const missingGraceMs = 120_000

/** What a check found, and the provider's reason where it ended the job without a video. */
interface Checked extends CheckNote {
  reason?: string
}

const checkOne = async (
  { catalog, pace, log }: WatchDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DueCheck,
): Promise<Checked> => {
  const note = { taskId: due.taskId, day: due.day, progress: null, outcome: null }
  const usual = pace.of(provider.name, due.model)
  const again = nextLookMs(provider, due.elapsedMs, usual)
  const signal = AbortSignal.timeout(provider.timeoutsMs.check)
  const status = await video.check(due.upstream as Opaque, signal)
  switch (status.kind) {
    case 'running': {
      const estimate = () => estimateProgress(due.elapsedMs, catalog.usualSeconds(due.model), usual)
      return {
        ...note,
        progress: Math.floor(status.progress ?? estimate()),
        nextCheckMs: Math.max(status.checkAfterMs ?? 0, again),
      }
    }
    case 'done':
      pace.learn(provider.name, due.model, due.elapsedMs)
      return { ...note, outcome: { kind: 'done', result: status.result }, nextCheckMs: tellAgainMs }
    case 'refused':
      // The provider's own words are for the operator; the caller gets ours.
      log.info(
        { taskId: due.taskId, provider: provider.name, code: status.code, said: status.message },
        'job.refused',
      )
      return {
        ...note,
        outcome: { kind: 'refused', code: status.code, message: '' },
        nextCheckMs: tellAgainMs,
        reason: status.message,
      }
    case 'missing':
      if (due.elapsedMs < missingGraceMs) {
        return { ...note, nextCheckMs: nextLookMs({ ...provider, bringsNews: false }, due.elapsedMs, usual) }
      }
      return {
        ...note,
        outcome: { kind: 'refused', code: 'upstream_error', message: '' },
        nextCheckMs: tellAgainMs,
        reason: 'the provider no longer knows the job',
      }
  }
}

/** Checks what is due, so many jobs at a time, until it is plain that the provider is away. */
const checkAll = async (
  dependencies: WatchDependencies,
  provider: Provider,
  video: VideoProvider,
  due: DueCheck[],
): Promise<Checked[]> => {
  const { log, router } = dependencies
  const notes: Checked[] = []
  let next = 0
  let failuresInRow = 0
  const putOff = ({ taskId, day }: DueCheck, retryAfterMs: number | undefined): CheckNote => ({
    ...{ taskId, day, progress: null, outcome: null },
    nextCheckMs: afterFailureMs(retryAfterMs, provider.checkEveryMs),
  })
  const noteOf = async (each: DueCheck): Promise<Checked> => {
    if (each.outcome !== null) return { ...putOff(each, undefined), nextCheckMs: tellAgainMs }
    if (failuresInRow >= failuresInRowMax) return putOff(each, undefined)
    try {
      const note = await checkOne(dependencies, provider, video, each)
      failuresInRow = 0
      return note
    } catch (error) {
      failuresInRow += 1
      log.info({ err: error, taskId: each.taskId, provider: provider.name }, 'check.failed')
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
  await Promise.all(Array.from({ length: Math.min(checksAtOnce, due.length) }, lane))
  return notes
}

const watch = async (dependencies: WatchDependencies, key: string): Promise<number> => {
  const { postgres, providers, engine, announce, log } = dependencies
  const { provider: name, shard } = parseShardKey(key)
  const provider = providers.find(name)
  if (provider?.video === undefined) return idleMs
  await noteTurn(postgres, watchUpstreamName, key)
  const due = await findDueChecks(postgres, name, shard, provider.shards, checksPerTurn)
  const notes = await checkAll(dependencies, provider, provider.video, due)
  // Before the outcome, which ends the task: an operator who sees it failed finds the reason. A reason that cannot be
  // written holds up no task.
  await recordJobFailures(
    postgres,
    notes.flatMap(({ taskId, day, reason }) =>
      reason === undefined ? [] : { taskId, day, provider: name, reason },
    ),
  ).catch((error: unknown) => log.warn({ err: error, provider: name }, 'failure-reasons.not-recorded'))
  await recordChecks(postgres, notes)
  announce(notes.flatMap(({ taskId, progress }) => (progress === null ? [] : taskId)))
  const told = due.filter(
    (each, index) => each.awakeable !== null && (each.outcome ?? notes[index]?.outcome) !== null,
  )
  const telling = await Promise.allSettled(
    told.map(({ awakeable }) => engine.resolveAwakeable(awakeable ?? '')),
  )
  const missed = telling.filter(({ status }) => status === 'rejected').length
  if (missed > 0) log.warn({ provider: name, missed }, 'task.not-told')
  if (due.length >= checksPerTurn) return soonMs
  const nextMs = await nextCheckInMs(postgres, name, shard, provider.shards)
  return Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const watchUpstream = (dependencies: WatchDependencies, suspendAfterMs: number) =>
  loop(watchUpstreamName, suspendAfterMs, (key) => watch(dependencies, key))

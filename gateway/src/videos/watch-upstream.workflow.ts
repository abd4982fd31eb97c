/**
 * Checks the jobs that providers work on and brings each task its news, one loop per provider and shard.
 *
 * Why durable: one watcher per credential keeps within its polling budget, and a dead worker's watch goes on
 * elsewhere. Why not in each task: a poll per task would be a journaled step each. One turn checks every job
 * that is due. An outcome is written down before its task is told, and told again until the task has moved.
 * A failing check never fails a task; only the provider's definite word or the deadline does.
 */
import type { Catalog } from '../models/catalog.ts'
import { noteTurn } from '../platform/engine-turn-store.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { loop, type Engine } from '../platform/restate.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Provider, Providers } from '../providers/port/provider.ts'
import type { Opaque } from '../providers/port/video.ts'
import { afterFailureMs, estimateProgress, nextCheckMs } from './check-schedule.ts'
import {
  findDueChecks,
  nextCheckInMs,
  recordChecks,
  type CheckNote,
  type DueCheck,
} from './open-task-store.ts'
import { parseShardKey } from './shard.ts'

export const watchUpstreamName = 'watchUpstream'

export interface WatchDependencies {
  postgres: Postgres
  providers: Providers
  engine: Engine
  catalog: Catalog
  /** Tells watchers that there is something new to read of these tasks. */
  announce: (taskIds: string[]) => void
  log: Log
}

const checksPerTurn = 500
const checksAtOnce = 16
const checkTimeoutMs = 15_000
const idleMs = 15_000
const soonMs = 50
const tellAgainMs = 2_000
// A provider may not show a job right after taking it; only after this does "no such job" count.
const missingGraceMs = 120_000

const checkOne = async (
  { catalog, log }: WatchDependencies,
  provider: Provider,
  due: DueCheck,
): Promise<CheckNote> => {
  const note = { taskId: due.taskId, day: due.day, progress: null, outcome: null }
  const again = nextCheckMs(due.elapsedMs, provider.checkEveryMs)
  if (due.outcome !== null) return { ...note, nextCheckMs: tellAgainMs }
  try {
    const status = await provider.video.check(due.upstream as Opaque, AbortSignal.timeout(checkTimeoutMs))
    switch (status.kind) {
      case 'running': {
        const progress = status.progress ?? estimateProgress(due.elapsedMs, catalog.usualSeconds(due.model))
        return {
          ...note,
          progress: Math.floor(progress),
          nextCheckMs: Math.max(status.checkAfterMs ?? 0, again),
        }
      }
      case 'done':
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
        }
      case 'missing':
        if (due.elapsedMs < missingGraceMs) return { ...note, nextCheckMs: again }
        return {
          ...note,
          outcome: { kind: 'refused', code: 'upstream_error', message: '' },
          nextCheckMs: tellAgainMs,
        }
    }
  } catch (error) {
    log.info({ err: error, taskId: due.taskId, provider: provider.name }, 'check.failed')
    const retryAfterMs = error instanceof ProviderFailure ? error.retryAfterMs : undefined
    return { ...note, nextCheckMs: afterFailureMs(retryAfterMs, provider.checkEveryMs) }
  }
}

/** Runs `work` over all items, so many at a time. */
const eachOf = async <Item, Result>(items: Item[], atOnce: number, work: (item: Item) => Promise<Result>) => {
  const results: Result[] = []
  let next = 0
  const lane = async () => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index]
      if (item !== undefined) results[index] = await work(item)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane))
  return results
}

const watch = async (dependencies: WatchDependencies, key: string): Promise<number> => {
  const { postgres, providers, engine, announce, log } = dependencies
  const { provider: name, shard } = parseShardKey(key)
  const provider = providers.all().find((each) => each.name === name)
  if (provider === undefined) return idleMs
  await noteTurn(postgres, watchUpstreamName, key)
  const due = await findDueChecks(postgres, name, shard, checksPerTurn)
  const notes = await eachOf(due, checksAtOnce, (each) => checkOne(dependencies, provider, each))
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
  const nextMs = await nextCheckInMs(postgres, name, shard)
  return Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const watchUpstream = (dependencies: WatchDependencies, suspendAfterMs: number) =>
  loop(watchUpstreamName, suspendAfterMs, (key) => watch(dependencies, key))

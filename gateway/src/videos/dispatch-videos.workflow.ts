/**
 * Hands accepted tasks to the engine, one loop per provider.
 *
 * Why durable: exactly one of these may count a provider's slots, and it must survive any worker. Being a
 * keyed object of the engine it needs no lease and no election. It is outbox and reconciler in one: what was
 * accepted and never started is started, what the engine lost is started again.
 */
import { noteTurn } from '../platform/engine-turn-store.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { loop, type Engine } from '../platform/restate.ts'
import { runKey } from '../platform/run-key.ts'
import type { Providers } from '../providers/port/provider.ts'
import { generateVideoName } from './generate-video.workflow.ts'
import type { LineLimits } from './line-limits.ts'
import { enterLine, nextStartInMs, takeAccepted } from './line-store.ts'
import { retakeLost, type Start } from './open-task-store.ts'

export const dispatchVideosName = 'dispatchVideos'

export interface DispatchDependencies {
  postgres: Postgres
  providers: Providers
  engine: Engine
  lineLimits: () => LineLimits
  log: Log
}

const startsPerTurn = 300
const idleMs = 15_000
const soonMs = 50
// Only the end of a task nudges, and only the dispatcher of its own provider.
const heldBackMs = 1_000

const dispatch = async (
  { postgres, providers, engine, lineLimits, log }: DispatchDependencies,
  name: string,
): Promise<number> => {
  const provider = providers.all().find((each) => each.name === name)
  if (provider === undefined) return idleMs
  await noteTurn(postgres, dispatchVideosName, name)
  const slotsElsewhere = providers.all().reduce((sum, { slots }) => sum + slots, -provider.slots)
  const line = { provider: name, slots: provider.slots, slotsElsewhere }
  const { lost, accepted, isHeldBack, nextMs } = await postgres.transaction(async (database) => {
    await enterLine(database, name)
    const lost = await retakeLost(database, name, startsPerTurn)
    const { starts, isHeldBack } = await takeAccepted(database, line, startsPerTurn, lineLimits())
    return { lost, accepted: starts, isHeldBack, nextMs: await nextStartInMs(database, name) }
  })
  if (lost.length > 0) log.warn({ provider: name, count: lost.length }, 'task.restarted')
  const start = ({ taskId, run }: Start) => engine.start(generateVideoName, runKey(taskId, run))
  // A start that did not arrive is repeated once the task has been silent for a while.
  const starts = await Promise.allSettled([...lost, ...accepted].map(start))
  const missed = starts.filter(({ status }) => status === 'rejected').length
  if (missed > 0) log.warn({ provider: name, missed }, 'task.not-started')
  if (accepted.length + lost.length >= startsPerTurn) return soonMs
  return Math.min(isHeldBack ? heldBackMs : idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const dispatchVideos = (dependencies: DispatchDependencies, suspendAfterMs: number) =>
  loop(dispatchVideosName, suspendAfterMs, (provider) => dispatch(dependencies, provider))

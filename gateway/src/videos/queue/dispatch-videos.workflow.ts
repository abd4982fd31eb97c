/**
 * Hands accepted tasks to the engine, one loop per provider.
 *
 * Why durable: exactly one of these may count a provider's slots, and it must survive any worker. Being a
 * keyed object of the engine it needs no lease and no election. It is outbox and reconciler in one: what was
 * accepted and never started is started, what the engine lost is started again.
 */
import type { Catalog } from '../../models/catalog.ts'
import { noteTick } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import { runKey } from '../../platform/engine/run-key.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Router } from '../../routing/route.ts'
import { generateVideoName } from '../lifecycle/generate-video.workflow.ts'
import { requeueStalled, type Start } from '../open-task-store.ts'
import { shardOf } from '../shard.ts'
import { requirementsOf } from '../video-requirements.ts'
import type { QueueLimits } from './queue-limits.ts'
import {
  countInFlight,
  lockQueue,
  findMovable,
  moveWaiting,
  nextStartInMs,
  claimAccepted,
  type Move,
} from './queue-store.ts'

export const dispatchVideosName = 'dispatchVideos'

export interface DispatchDependencies {
  postgres: Postgres
  providers: Providers
  router: Router
  catalog: Catalog
  engine: Engine
  queueLimits: () => QueueLimits
  log: Log
}

const startsPerTick = 300
const idleMs = 15_000
const soonMs = 50
// Only the end of a task nudges, and only the dispatcher of its own provider.
const heldBackMs = 1_000

/** What there is to know of a provider's models before any task is taken from its line. */
const surveyModels = ({ catalog, router }: DispatchDependencies, { name, slots }: Provider) => {
  const served = catalog.available().flatMap(({ id }) => {
    const route = router.routesOf(id).find(({ provider }) => provider.name === name)
    return route === undefined ? [] : { id, slots: route.slots, health: router.healthOf(name, id) }
  })
  return {
    unhealthy: served.flatMap(({ id, health }) =>
      health.kind === 'unhealthy' ? { id, forMs: health.forMs } : [],
    ),
    capped: served.filter((model) => model.slots < slots),
    served,
  }
}

/** Tasks that wait for a provider that is not well go to one that is, where there is one. */
const moveAway = async (
  { router, providers }: DispatchDependencies,
  database: Database,
  from: string,
  models: string[],
): Promise<string[]> => {
  const goals = new Set<string>()
  for (const model of models) {
    const movable = await findMovable(database, from, model, startsPerTick)
    const moves = movable.flatMap(({ taskId, day, order, tried }): Move[] => {
      const chosen = router.choose(model, { ...requirementsOf(order, undefined), tried: [...tried, from] })
      const goal = chosen?.route.provider
      if (chosen === undefined || goal === undefined || goal.name === from) return []
      if (router.healthOf(goal.name, model).kind !== 'healthy' || providers.find(goal.name) === undefined)
        return []
      goals.add(goal.name)
      const { name: provider, shards } = goal
      return [{ taskId, day, provider, shard: shardOf(taskId, shards), decision: chosen.decision }]
    })
    if (moves.length > 0) await moveWaiting(database, from, moves)
  }
  return [...goals]
}

/** How many tasks of each model may be started, where that is not for the provider's slots alone to say. */
const capacitiesOf = async (
  { router }: DispatchDependencies,
  database: Database,
  name: string,
  { unhealthy, capped, served }: ReturnType<typeof surveyModels>,
): Promise<Map<string, number>> => {
  const inFlight = await countInFlight(
    database,
    name,
    capped.map(({ id }) => id),
  )
  const capacities = new Map(
    capped.map(({ id, slots }) => [id, Math.max(0, slots - (inFlight.get(id) ?? 0))]),
  )
  const narrow = (id: string, capacity: number) =>
    capacities.set(id, Math.min(capacities.get(id) ?? Infinity, capacity))
  for (const { id } of served) {
    const allowed = router.startsAllowed(name, id)
    if (allowed !== Infinity) narrow(id, allowed)
  }
  // Once its time is over, one task at a time finds out whether it is well again.
  for (const { id, forMs } of unhealthy) narrow(id, forMs > 0 ? 0 : 1)
  return capacities
}

const dispatch = async (dependencies: DispatchDependencies, name: string): Promise<number> => {
  const { postgres, providers, router, engine, queueLimits, log } = dependencies
  const provider = providers.find(name)
  if (provider === undefined) return idleMs
  await noteTick(postgres, dispatchVideosName, name)
  const slotsElsewhere = providers.all().reduce((sum, { slots }) => sum + slots, -provider.slots)
  const survey = surveyModels(dependencies, provider)
  const isRamping = survey.served.some(({ id }) => router.startsAllowed(name, id) !== Infinity)
  const turn = await postgres.transaction(async (database) => {
    await lockQueue(database, name)
    const lost = await requeueStalled(database, name, startsPerTick, provider.timeoutsMs.submit)
    const movable = survey.unhealthy.flatMap(({ id }) => (router.routesOf(id).length > 1 ? id : []))
    const goals = await moveAway(dependencies, database, name, movable)
    const capacityOf = await capacitiesOf(dependencies, database, name, survey)
    const line = { provider: name, slots: provider.slots, slotsElsewhere, capacityOf }
    const { starts, isThrottled } = await claimAccepted(database, line, startsPerTick, queueLimits())
    return { lost, accepted: starts, isThrottled, goals, nextMs: await nextStartInMs(database, name) }
  })
  const { lost, accepted, isThrottled, goals, nextMs } = turn
  for (const [model, starts] of Map.groupBy(accepted, ({ model }) => model)) {
    router.countStarts(name, model, starts.length)
  }
  for (const goal of goals) engine.wake(dispatchVideosName, goal)
  if (lost.length > 0) log.warn({ provider: name, count: lost.length }, 'task.restarted')
  const start = ({ taskId, run }: Start) => engine.start(generateVideoName, runKey(taskId, run))
  // A start that did not arrive is repeated once the task has been silent for a while.
  const starts = await Promise.allSettled([...lost, ...accepted].map(start))
  const missed = starts.filter(({ status }) => status === 'rejected').length
  if (missed > 0) log.warn({ provider: name, missed }, 'task.not-started')
  if (accepted.length + lost.length >= startsPerTick) return soonMs
  const probeMs = Math.min(...survey.unhealthy.map(({ forMs }) => Math.max(forMs, heldBackMs)))
  const waitMs = Math.min(isThrottled || isRamping ? heldBackMs : idleMs, probeMs)
  return Math.min(waitMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const dispatchVideos = (dependencies: DispatchDependencies, suspendAfterMs: number) =>
  loop(dispatchVideosName, suspendAfterMs, (provider) => dispatch(dependencies, provider))

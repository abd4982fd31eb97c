/**
 * Starts accepted tasks, with one loop per provider.
 *
 * Why durable: only one loop may count a provider's slots, and it must survive the loss of any worker. As a keyed object
 * of the engine it needs no lease and no leader election. It starts accepted tasks and
 * restarts stalled ones.
 */
import type { Catalog } from '../../models/catalog.ts'
import { recordTick } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import { runKey } from '../../platform/engine/run-key.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Router } from '../../routing/route.ts'
import { generateVideoName } from '../lifecycle/generate-video.workflow.ts'
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
  type Start,
} from './queue-store.ts'
import { restartStalled } from './stalled-task-store.ts'

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
// The end of a task wakes only the dispatcher of its own provider, so throttled tasks are retried by time.
const throttledMs = 1_000

/** The state of a provider's models before any task is claimed. */
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

/** Moves tasks that wait for an unhealthy provider to healthy ones, and returns the names of those. */
const moveToHealthy = async (
  { router, providers }: DispatchDependencies,
  database: Database,
  from: string,
  models: string[],
): Promise<string[]> => {
  const targets = new Set<string>()
  for (const model of models) {
    const movable = await findMovable(database, from, model, startsPerTick)
    const moves = movable.flatMap(({ taskId, day, order, tried }): Move[] => {
      const chosen = router.choose(model, { ...requirementsOf(order, undefined), tried: [...tried, from] })
      const target = chosen?.route.provider
      if (chosen === undefined || target === undefined || target.name === from) return []
      if (router.healthOf(target.name, model).kind !== 'healthy' || providers.find(target.name) === undefined)
        return []
      targets.add(target.name)
      const { name: provider, shards } = target
      return [{ taskId, day, provider, shard: shardOf(taskId, shards), decision: chosen.decision }]
    })
    if (moves.length > 0) await moveWaiting(database, from, moves)
  }
  return [...targets]
}

/** How many tasks of each model may start, for models that are limited by more than the provider's slots. */
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
  // After the breaker's wait, one task at a time probes whether the provider is healthy again.
  for (const { id, forMs } of unhealthy) narrow(id, forMs > 0 ? 0 : 1)
  return capacities
}

const dispatch = async (dependencies: DispatchDependencies, name: string): Promise<number> => {
  const { postgres, providers, router, engine, queueLimits, log } = dependencies
  const provider = providers.find(name)
  if (provider === undefined) return idleMs
  await recordTick(postgres, dispatchVideosName, name)
  const slotsElsewhere = providers.all().reduce((sum, { slots }) => sum + slots, -provider.slots)
  const survey = surveyModels(dependencies, provider)
  const isRamping = survey.served.some(({ id }) => router.startsAllowed(name, id) !== Infinity)
  const { stalled, accepted, isThrottled, targets, nextMs } = await postgres.transaction(async (database) => {
    await lockQueue(database, name)
    const stalled = await restartStalled(database, name, startsPerTick, provider.timeoutsMs.submit)
    const movable = survey.unhealthy.flatMap(({ id }) => (router.routesOf(id).length > 1 ? id : []))
    const targets = await moveToHealthy(dependencies, database, name, movable)
    const capacityOf = await capacitiesOf(dependencies, database, name, survey)
    const queue = { provider: name, slots: provider.slots, slotsElsewhere, capacityOf }
    const { starts, isThrottled } = await claimAccepted(database, queue, startsPerTick, queueLimits())
    return { stalled, accepted: starts, isThrottled, targets, nextMs: await nextStartInMs(database, name) }
  })
  for (const [model, starts] of Map.groupBy(accepted, ({ model }) => model)) {
    router.countStarts(name, model, starts.length)
  }
  for (const target of targets) engine.wake(dispatchVideosName, target)
  if (stalled.length > 0) log.warn({ provider: name, count: stalled.length }, 'task.restarted')
  const start = ({ taskId, run }: Start) => engine.start(generateVideoName, runKey(taskId, run))
  // A failed start is repeated once the task counts as stalled.
  const starts = await Promise.allSettled([...stalled, ...accepted].map(start))
  const failed = starts.filter(({ status }) => status === 'rejected').length
  if (failed > 0) log.warn({ provider: name, failed }, 'task.start-failed')
  if (accepted.length + stalled.length >= startsPerTick) return soonMs
  const probeMs = Math.min(...survey.unhealthy.map(({ forMs }) => Math.max(forMs, throttledMs)))
  const waitMs = Math.min(isThrottled || isRamping ? throttledMs : idleMs, probeMs)
  return Math.min(waitMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const dispatchVideos = (dependencies: DispatchDependencies, suspendAfterMs: number) =>
  loop(dispatchVideosName, suspendAfterMs, (provider) => dispatch(dependencies, provider))

/** Starts accepted tasks, with one dispatcher per provider. */
import type { Catalog } from '../../models/catalog.ts'
import { loop, type Ticked } from '../../platform/engine/loop.ts'
import type { Engine } from '../../platform/engine/restate.ts'
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Requirements, Router } from '../../routing/route.ts'
import { dispatchTasks, idleMs, soonMs, type Claim } from '../../tasks/dispatch-tasks.ts'
import { costAt } from '../priced-work.ts'
import { shardOf } from '../shard.ts'
import { videoTables } from '../task.ts'
import { requirementsOf } from '../video-requirements.ts'
import { advanceVideoName, runsPerCall } from '../video-run.ts'
import type { QueueLimits } from './queue-limits.ts'
import {
  claimAccepted,
  countInFlight,
  findMovable,
  lockQueue,
  moveWaiting,
  type Move,
  type WaitingTask,
} from './queue-store.ts'

export const dispatchVideosName = 'dispatchVideos'

export interface DispatchDependencies {
  postgres: Postgres
  providers: Providers
  router: Router
  catalog: Catalog
  engine: Engine
  queueLimits: () => QueueLimits
}

const startsPerTick = 300
// The end of a task wakes only the dispatcher of its own provider, so throttled tasks are retried by time.
const throttledMs = 1_000
// A provider that was added a moment ago may be unknown to this worker.
const unknownSeconds = 15

/** The models of a provider that are limited by more than its slots, before any task is claimed. */
const surveyModels = ({ catalog, router }: DispatchDependencies, { name, slots }: Provider) => {
  const served = router.modelsAt(name).filter(({ model }) => catalog.isAvailable(model))
  const isServed = (model: string) =>
    catalog.isAvailable(model) && router.routesOf(model).some(({ provider }) => provider.name === name)
  const unsteady = router.unsteadyAt(name).filter(({ model }) => isServed(model))
  return {
    unhealthy: unsteady.flatMap(({ model, health }) =>
      health.kind === 'unhealthy' ? { id: model, reason: health.reason, forMs: health.forMs } : [],
    ),
    ramping: unsteady.flatMap(({ model, startsAllowed }) =>
      startsAllowed === Infinity ? [] : { id: model, startsAllowed },
    ),
    capped: served.flatMap((each) => (each.slots < slots ? { id: each.model, slots: each.slots } : [])),
  }
}

/** Moves waiting tasks to other providers, and returns the names of those. */
const moveTasks = async (
  { router, providers }: DispatchDependencies,
  database: Database,
  from: string,
  movable: WaitingTask[],
  unavailable: Requirements['unavailable'] = [],
): Promise<string[]> => {
  const moves = movable.flatMap(({ taskId, day, model, order, tried }): Move[] => {
    const chosen = router.choose(model, { ...requirementsOf(order, undefined), tried, unavailable })
    const target = chosen?.route.provider
    if (chosen === undefined || target === undefined || target.name === from) return []
    if (router.healthOf(target.name, model).kind !== 'healthy' || providers.find(target.name) === undefined)
      return []
    const { name: provider, shards } = target
    const { decision, route } = chosen
    const costMicros = costAt(route, order)
    return [{ taskId, day, provider, shard: shardOf(taskId, shards), decision, costMicros }]
  })
  if (moves.length > 0) await moveWaiting(database, from, moves)
  return [...new Set(moves.map(({ provider }) => provider))]
}

/**
 * Moves tasks that wait for an unhealthy provider to healthy ones, and returns the names of those. It follows the claim of
 * the task that probes the provider; without a probe, the provider would stay unhealthy.
 */
const moveToHealthy = async (
  dependencies: DispatchDependencies,
  database: Database,
  from: string,
  unhealthy: ReturnType<typeof surveyModels>['unhealthy'],
): Promise<string[]> => {
  const targets = []
  for (const { id: model, reason, forMs } of unhealthy) {
    if (dependencies.router.routesOf(model).length < 2) continue
    const movable = await findMovable(database, from, { models: [model] }, startsPerTick)
    const unavailable = [{ provider: from, reason, forMs }]
    targets.push(...(await moveTasks(dependencies, database, from, movable, unavailable)))
  }
  return [...new Set(targets)]
}

/** Moves tasks that wait for a provider whose budget is spent, and returns the names of the others. */
const moveFromStopped = async (
  dependencies: DispatchDependencies,
  database: Database,
  from: string,
  stop: NonNullable<ReturnType<Router['stopAt']>>,
): Promise<string[]> => {
  const { router } = dependencies
  const models = router
    .modelsAt(from)
    .flatMap(({ model }) => (router.routesOf(model).length > 1 ? model : []))
  if (models.length === 0) return []
  const movable = await findMovable(database, from, { models }, startsPerTick)
  return moveTasks(dependencies, database, from, movable, [{ provider: from, ...stop }])
}

/** Moves the tasks that wait for a provider that was removed, once another provider that serves them is healthy. */
const moveFromRemoved = async (dependencies: DispatchDependencies, name: string): Promise<Ticked> => {
  const { postgres, engine } = dependencies
  const targets = await postgres.transaction(async (database) => {
    const movable = await findMovable(database, name, { ageSecondsMin: unknownSeconds }, startsPerTick)
    return moveTasks(dependencies, database, name, movable)
  })
  for (const target of targets) engine.wake(dispatchVideosName, target)
  return { nextMs: targets.length > 0 ? soonMs : idleMs }
}

/** How many tasks of each model may start, for models that are limited by more than the provider's slots. */
const capacitiesOf = async (
  database: Database,
  name: string,
  { unhealthy, ramping, capped }: ReturnType<typeof surveyModels>,
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
  for (const { id, startsAllowed } of ramping) narrow(id, startsAllowed)
  // After the breaker's wait, one task at a time probes whether the provider is healthy again.
  for (const { id, forMs } of unhealthy) narrow(id, forMs > 0 ? 0 : 1)
  return capacities
}

/** Claims tasks for the free slots of a provider, and moves those that wait for it while it is unhealthy. */
const claimSlots = async (
  dependencies: DispatchDependencies,
  database: Database,
  provider: Provider,
  tickId: string,
): Promise<Claim> => {
  const { providers, router, engine, queueLimits } = dependencies
  const { name, slots } = provider
  const slotsElsewhere = providers.all().reduce((sum, each) => sum + each.slots, -slots)
  const survey = surveyModels(dependencies, provider)
  await lockQueue(database, name)
  const capacityOf = await capacitiesOf(database, name, survey)
  const stop = router.stopAt(name)
  const queue = { provider: name, slots, slotsElsewhere, capacityOf, isStopped: stop !== undefined }
  const { starts, isThrottled } = await claimAccepted(database, queue, startsPerTick, queueLimits(), tickId)
  const targets =
    stop === undefined
      ? await moveToHealthy(dependencies, database, name, survey.unhealthy)
      : await moveFromStopped(dependencies, database, name, stop)
  const probeMs = Math.min(...survey.unhealthy.map(({ forMs }) => Math.max(forMs, throttledMs)))
  const isSoon = isThrottled || survey.ramping.length > 0 || stop !== undefined
  const waitMs = Math.min(isSoon ? throttledMs : idleMs, probeMs)
  return {
    runs: starts,
    tickInMs: starts.length >= startsPerTick ? soonMs : waitMs,
    afterCommit: () => {
      for (const [model, ofModel] of Map.groupBy(starts, ({ model }) => model)) {
        router.countStarts(name, model, ofModel.length)
      }
      for (const target of targets) engine.wake(dispatchVideosName, target)
    },
  }
}

export const dispatch = async (
  dependencies: DispatchDependencies,
  name: string,
  tickId: string,
): Promise<Ticked> => {
  const { postgres, providers } = dependencies
  const provider = providers.find(name)
  if (provider === undefined) return moveFromRemoved(dependencies, name)
  const dispatcher = { loop: dispatchVideosName, key: name, tables: videoTables, service: advanceVideoName }
  return dispatchTasks(postgres, dispatcher, tickId, (database) =>
    claimSlots(dependencies, database, provider, tickId),
  )
}

export const dispatchVideos = (dependencies: DispatchDependencies, steps: RunningSteps) =>
  loop(dispatchVideosName, steps, (provider, tickId) => dispatch(dependencies, provider, tickId), {
    runsPerCall,
  })

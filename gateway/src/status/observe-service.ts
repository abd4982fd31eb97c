/**
 * Judges every few seconds how well each kind of model works, and records it. One of the API processes does, and not a worker,
 * because the end of all workers must be noticed too.
 */
import { modelKinds, type ModelKind } from '@kinora/contract/operations/status'

import type { Catalog } from '../models/catalog.ts'
import { heartbeat, heartbeatSecondsMax } from '../platform/engine/supervise-engine.ts'
import { findJobAge } from '../platform/engine/tick-store.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Capability } from '../providers/port/provider.ts'
import { readHealth } from '../routing/route-health-store.ts'
import type { Router } from '../routing/route.ts'
import { judgeKind, type Judgement, type KindFacts } from './judge-kind.ts'
import { findJudgementAge, readEnds, recordStates } from './status-store.ts'

export interface ObserveDependencies {
  postgres: Postgres
  catalog: Catalog
  router: Pick<Router, 'routesOf' | 'stopAt'>
  /** The capability that a kind of model needs. */
  capabilityFor: Record<ModelKind, Capability>
  log: Log
}

const everyMs = 15_000
/** A state that was not judged for this long is unknown. */
export const staleSeconds = 60

const judgeService = async ({
  postgres,
  catalog,
  router,
  capabilityFor,
}: Omit<ObserveDependencies, 'log'>): Promise<Judgement[]> => {
  const heartbeatAge = await findJobAge(postgres, heartbeat.loop, heartbeat.key)
  const unhealthy = new Map(
    (await readHealth(postgres)).flatMap(({ provider, model, recoveredAgoMs, openForMs, reason }) =>
      recoveredAgoMs === null
        ? [[`${provider}/${model}`, { health: openForMs > 0 ? 'unhealthy' : 'untested', reason } as const]]
        : [],
    ),
  )
  const ends = new Map((await readEnds(postgres)).map((each) => [each.model, each]))
  const models = Map.groupBy(catalog.available(), ({ kind }) => kind)
  return modelKinds.flatMap((kind): Judgement | [] => {
    const ofKind = models.get(kind) ?? []
    if (ofKind.length === 0) return []
    const capability = capabilityFor[kind]
    const facts: KindFacts = {
      kind,
      models: ofKind.map(({ id }) => ({
        id,
        routes: router
          .routesOf(id, capability)
          .filter(({ provider }) => provider.acceptsJobs && provider[capability] !== undefined)
          .map(({ provider: { name } }) => {
            const stop = router.stopAt(name)
            if (stop !== undefined) return { provider: name, health: 'unhealthy', reason: stop.reason }
            return {
              provider: name,
              ...(unhealthy.get(`${name}/${id}`) ?? { health: 'healthy' as const, reason: 'healthy' }),
            }
          }),
      })),
      hasWorkers: heartbeatAge !== undefined && heartbeatAge <= heartbeatSecondsMax,
      ends: ofKind.reduce(
        (sum, { id }) => ({
          completed: sum.completed + (ends.get(id)?.completed ?? 0),
          faults: sum.faults + (ends.get(id)?.faults ?? 0),
        }),
        { completed: 0, faults: 0 },
      ),
    }
    return judgeKind(facts)
  })
}

/** Judges and records, unless another process has just done so. */
export const observeOnce = async (
  dependencies: Omit<ObserveDependencies, 'log'>,
  ageMsMin = 0,
): Promise<void> => {
  const { postgres } = dependencies
  const ageSeconds = (await findJudgementAge(postgres)) ?? Infinity
  if (ageSeconds * 1000 < ageMsMin) return
  await recordStates(postgres, await judgeService(dependencies), staleSeconds)
}

export const startObserving = (dependencies: ObserveDependencies): { stop: () => Promise<void> } => {
  const { log } = dependencies
  let observing: Promise<void> | undefined
  const timer = setInterval(() => {
    observing ??= observeOnce(dependencies, everyMs - 1_000)
      .catch((error: unknown) => log.warn({ err: error }, 'status.not-observed'))
      .finally(() => {
        observing = undefined
      })
  }, everyMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await observing
    },
  }
}

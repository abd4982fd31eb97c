import type { ServiceStatus } from '@kinora/contract/operations/status'

import type { Database } from '../platform/postgres.ts'
import { combineStates } from './judge-kind.ts'
import { staleSeconds } from './observe-service.ts'
import { readServiceDays, readStates, type ServiceDay } from './status-store.ts'

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1000)

const presentDay = ({ date, observedSeconds, degradedSeconds, downSeconds }: ServiceDay) => ({
  date,
  observed_seconds: Math.round(observedSeconds),
  degraded_seconds: Math.round(degradedSeconds),
  down_seconds: Math.round(downSeconds),
})

/** Without names of providers, and without reasons. */
export const readStatus = async (database: Database): Promise<ServiceStatus> => {
  const states = await readStates(database)
  const days = Map.groupBy(await readServiceDays(database), ({ kind }) => kind)
  const kinds = states.map(({ kind, state, since, observedAt, ageSeconds }) => {
    // Nothing is known about it now, and what is not known to work counts as down.
    const isStale = ageSeconds > staleSeconds
    return {
      kind,
      state: isStale ? ('down' as const) : state,
      since: secondsOf(isStale ? observedAt : since),
      days: (days.get(kind) ?? []).map(presentDay),
    }
  })
  return {
    object: 'status',
    state: kinds.length === 0 ? 'down' : combineStates(kinds.map(({ state }) => state)),
    updated_at: Math.max(0, ...states.map(({ observedAt }) => secondsOf(observedAt))),
    kinds,
  }
}

/** The same while the database cannot be read: no request succeeds then. */
export const withoutDatabase = (last: ServiceStatus | undefined): ServiceStatus => ({
  object: 'status',
  state: 'down',
  updated_at: last?.updated_at ?? 0,
  kinds: (last?.kinds ?? []).map((kind) => ({ ...kind, state: 'down' })),
})

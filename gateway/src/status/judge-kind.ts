/** Whether a kind of model works for customers, and why not. docs/operating.md defines the states for operators. */
import type { ModelKind, ServiceState } from '@kinora/contract/operations/status'

/** `untested`: its calls failed, and none was made since its breaker allows one again. */
export type RouteHealth = 'healthy' | 'untested' | 'unhealthy'

/** What is known about a kind of model. */
export interface KindFacts {
  kind: ModelKind
  models: { id: string; routes: { provider: string; health: RouteHealth; reason: string }[] }[]
  /** Whether a worker has reached the engine within the last minute. */
  hasWorkers: boolean
  /** The tasks that ended in the last minutes: completed, and failed for no fault of their customers. */
  ends: { completed: number; faults: number }
}

export interface Judgement {
  kind: ModelKind
  state: ServiceState
  /** For operators: they name providers. */
  reasons: string[]
}

/** Tasks that end within this time count. */
export const endsWindowMinutes = 10
/** Fewer failed tasks say nothing about the service. */
const faultsMin = 5
const faultsShareMin = 0.2
const modelsNamedMax = 20

type Found = { state: ServiceState; reason: string } | undefined

const judgeModels = ({ models }: KindFacts): Found[] => {
  const without = models.filter(({ routes }) => routes.every(({ health }) => health === 'unhealthy'))
  const untested = models.filter(
    ({ routes }) =>
      routes.some(({ health }) => health === 'untested') &&
      routes.every(({ health }) => health !== 'healthy'),
  )
  const describe = ({ id, routes }: KindFacts['models'][number]) => {
    const why = routes.map(({ provider, reason }) => `${provider}: ${reason}`).join('; ')
    return `${id} (${why === '' ? 'no enabled route' : why})`
  }
  const named = (found: typeof models) => {
    const more = found.length - modelsNamedMax
    return `${found.slice(0, modelsNamedMax).map(describe).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  }
  const isAll = without.length === models.length
  return [
    without.length === 0
      ? undefined
      : {
          state: isAll ? 'down' : 'degraded',
          reason: `No route of ${isAll ? 'any model' : 'these models'} can be called: ${named(without)}.`,
        },
    untested.length === 0
      ? undefined
      : {
          state: 'degraded',
          reason: `The last calls for these models failed, and none was made since: ${named(untested)}.`,
        },
  ]
}

/** Requests that are answered at once need no worker. */
const judgeWorkers = ({ kind, hasWorkers }: KindFacts): Found => {
  if (hasWorkers || (kind !== 'video' && kind !== 'transcription')) return undefined
  return {
    state: kind === 'video' ? 'down' : 'degraded',
    reason: 'No worker has reached Restate for a minute, so no task progresses.',
  }
}

const judgeEnds = ({ ends: { completed, faults } }: KindFacts): Found => {
  if (faults < faultsMin || faults < faultsShareMin * (completed + faults)) return undefined
  return {
    state: completed === 0 ? 'down' : 'degraded',
    reason: `${faults} of ${completed + faults} tasks failed within ${endsWindowMinutes} minutes, for no fault of their customers.`,
  }
}

export const judgeKind = (facts: KindFacts): Judgement => {
  const found = [...judgeModels(facts), judgeWorkers(facts), judgeEnds(facts)].filter(
    (each) => each !== undefined,
  )
  const worst = (['down', 'degraded'] as const).find((state) => found.some((each) => each.state === state))
  return { kind: facts.kind, state: worst ?? 'operational', reasons: found.map(({ reason }) => reason) }
}

export const combineStates = (states: ServiceState[]): ServiceState => {
  if (states.length > 0 && states.every((state) => state === 'down')) return 'down'
  return states.every((state) => state === 'operational') ? 'operational' : 'degraded'
}

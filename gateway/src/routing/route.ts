import type { PriceRule } from '../models/price-rule.ts'
import type { FailureKind } from '../providers/port/failure.ts'
import type { Capability, Provider } from '../providers/port/provider.ts'

/** A configured route to an existing provider. */
export interface Route {
  provider: Provider
  /** The provider's own name for the model. */
  upstreamModel: string
  order: number
  weight: number
  seconds: number[] | undefined
  sizes: string[] | undefined
  /** Tasks of this model it may have in flight. */
  slots: number
  /** What the provider charges; undefined if unknown. */
  costs: PriceRule[] | undefined
}

/** A provider that may not be called now, and for how long. */
export interface Unavailable {
  provider: string
  reason: string
  forMs: number
}

/** What a route must support for a piece of work. */
export interface Requirements {
  capability: Capability
  /** The video to make. */
  video?: {
    seconds: number
    width: number
    height: number
    isRemix: boolean
    isSilent: boolean
    /** Whether it has a reference video, and a reference audio. */
    hasVideo?: boolean
    hasAudio?: boolean
  }
  /** Restricts the choice to this provider. */
  onlyAt?: string | undefined
  /** Providers that refused this work already; they are chosen again only if no other is available. */
  tried?: string[]
  /** Providers that may not be called now. They were not asked, so they did not refuse the work. */
  unavailable?: Unavailable[]
  /** Whether the work continues when its client disconnects; then a failure still counts against the provider. */
  outlivesClient?: boolean
}

/** The chosen provider and the reasons, for operators. Stored with the task. */
export interface Decision {
  provider: string
  reason: string
  skipped: { provider: string; reason: string }[]
}

export type CallOutcome = 'ok' | FailureKind

/** What else a report says about a call. */
interface CallDetails {
  retryAfterMs?: number | undefined
  /** When the call began, by `performance.now()`. */
  startedMs?: number
  /** Whether this process caused the failure. It says nothing about the provider then. */
  isLocal?: boolean
}

export type Permit =
  | { kind: 'yes'; isProbe: boolean }
  | { kind: 'no'; reason: string; retryAfterMs: number; isUnauthorized: boolean }

export interface Router {
  /**
   * Every route of a model in order of preference, healthy or not. A model without configured routes has one route: the
   * first enabled provider that has the capability.
   */
  routesOf: (model: string, capability?: Capability) => Route[]
  /** The models with a route to this provider, retired ones included. */
  modelsAt: (provider: string) => { model: string; slots: number }[]
  /**
   * Chooses by order, capability, health, load and weight. Returns undefined if no route could ever do the work. If all
   * capable routes are unhealthy, it chooses the one that can be probed first, and the work waits there.
   */
  choose: (model: string, requirements: Requirements) => { route: Route; decision: Decision } | undefined
  /** Every route with how likely it is chosen for the work, and why. Nothing is chosen or counted. */
  explain: (model: string, requirements: Requirements) => { route: Route; share: number; reason: string }[]
  /**
   * Must be called right before a call; `retry` is for work that this provider had before. A permit for an unhealthy
   * provider is a probe, one at a time across all processes.
   */
  mayCall: (provider: string, model: string, attempt: 'first' | 'retry') => Promise<Permit>
  /** Why the budget of a provider stops new work, and for how long; undefined if it does not. */
  stopAt: (provider: string) => { reason: string; forMs: number } | undefined
  /** Counts the cost of a job that has just begun. */
  addCost: (provider: string, costMicros: number) => void
  /** What each provider with a budget has cost today, with jobs in flight. */
  spends: () => { provider: string; micros: number; budgetMicros: number }[]
  /** Releases the probe of a permit whose call was not made, or whose outcome says nothing about the provider. */
  releaseProbe: (provider: string, model: string) => void
  /** Does not need a permit. `unhealthy` with 0 ms means that a probe is allowed. */
  healthOf: (
    provider: string,
    model: string,
  ) => { kind: 'healthy' } | { kind: 'unhealthy'; reason: string; forMs: number; isUnauthorized: boolean }
  /** The models that are unhealthy or have just recovered at this provider. */
  unsteadyAt: (
    provider: string,
  ) => { model: string; health: ReturnType<Router['healthOf']>; startsAllowed: number }[]
  /** The number of tasks that may be started there now; Infinity unless the provider has just recovered. */
  startsAllowed: (provider: string, model: string) => number
  /** Counts starts against `startsAllowed`. */
  countStarts: (provider: string, model: string, count: number) => void
  /**
   * Must be called with the outcome of every call. A failure without a response does not count if this process stood
   * still during the call.
   */
  report: (provider: string, model: string, outcome: CallOutcome, details?: CallDetails) => void
  /**
   * Does the work of a waiting client at the chosen route; if that provider refuses before doing anything, at the next
   * one. `work` must be repeatable until it succeeds.
   */
  call: <Answer>(
    model: string,
    requirements: Requirements,
    signal: AbortSignal,
    work: (route: Route) => Promise<Answer>,
  ) => Promise<{ answer: Answer; route: Route }>
}

/** Tells an operator how to fix a refused credential. */
export const remedyFor = (provider: string): string =>
  `Provider ${provider} refuses its API key (401 or 403). Set a valid one: api_key of PUT /admin/v1/providers/${provider}, or apiKey in PROVIDERS_FILE.`

import type { FailureKind } from '../providers/port/failure.ts'
import type { Capability, Provider } from '../providers/port/provider.ts'

/** One way to have a model's work done, by a provider that is there. */
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
}

/** What a piece of work needs of whoever does it. */
export interface Requirements {
  capability: Capability
  /** Of a video: what every route must be able to make. */
  video?: { seconds: number; width: number; height: number; isRemix: boolean }
  /** The only provider that will do. */
  onlyAt?: string | undefined
  /** Providers that turned this piece of work away already; they are chosen again only where there is no other. */
  tried?: string[]
  /** Whether the work goes on when its client disconnects, so that how it ends is the provider's doing all the same. */
  outlivesClient?: boolean
}

/** What was chosen and why, in words for operators. It is kept with the task. */
export interface Decision {
  provider: string
  reason: string
  skipped: { provider: string; reason: string }[]
}

/** How a call ended, as far as a provider's health goes. */
export type CallOutcome = 'ok' | FailureKind

/** Whether a provider may be called for a model now. */
export type Leave =
  | { kind: 'yes'; isProbe: boolean }
  | { kind: 'no'; reason: string; retryAfterMs: number; isUnauthorized: boolean }

export interface Router {
  /**
   * Every route of a model, whatever its health, in order of preference. A model that none are set up for has one: the
   * first provider that takes new work, and can do this where it is said what.
   */
  routesOf: (model: string, capability?: Capability) => Route[]
  /**
   * Chooses by order, ability, health, load and weight. Undefined where no route could ever do it; where some could but
   * none is well, the one that will be soonest is chosen, and the work waits there.
   */
  choose: (model: string, need: Requirements) => { route: Route; decision: Decision } | undefined
  /**
   * Asked right before a call; a retry is one for work that was at this provider before. A yes to an unhealthy provider is
   * a probe, one at a time in all processes together.
   */
  mayCall: (provider: string, model: string, attempt: 'first' | 'retry') => Promise<Leave>
  /** Told where there was leave for a call that was not made after all, or has an end that tells nothing. */
  letGo: (provider: string, model: string) => void
  /** How it does, without asking for leave. Unhealthy for another 0 ms is one that may be tried. */
  healthOf: (
    provider: string,
    model: string,
  ) => { kind: 'well' } | { kind: 'unhealthy'; reason: string; forMs: number; isUnauthorized: boolean }
  /** How many tasks may be started there now; Infinity but for a provider that has just recovered. */
  startsAllowed: (provider: string, model: string) => number
  /** Told how many were, so that they count against what is allowed. */
  noteStarts: (provider: string, model: string, count: number) => void
  /** Told how every call ended. `retryAfterMs` is what the provider asked for. */
  report: (provider: string, model: string, outcome: CallOutcome, retryAfterMs?: number) => void
  /**
   * Does work for somebody who waits: at the chosen route, and where that one turns it away before anything was done, at
   * the next. `work` must be repeatable until it has answered.
   */
  call: <Answer>(
    model: string,
    need: Requirements,
    signal: AbortSignal,
    work: (route: Route) => Promise<Answer>,
  ) => Promise<{ answer: Answer; route: Route }>
}

/** What an operator does about a provider that refuses our credential. */
export const remedyFor = (provider: string): string =>
  `Provider ${provider} refuses its API key (401 or 403). Set a valid one: api_key of PUT /admin/v1/providers/${provider}, or apiKey in PROVIDERS_FILE.`

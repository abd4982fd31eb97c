import { isStopped } from '../provider-budgets/spend-store.ts'
import type { Decision } from '../routing/route.ts'

/** How the work on a task stands, or stood when the task ended. Times are ISO 8601. */
export interface WorkState {
  stage: 'accepted' | 'starting' | 'submitting' | 'waiting' | 'storing'
  submits: number
  /** Runs that the engine lost. */
  lostRuns: number
  failedDownloads: number
  deadlineAt: string
  submittedAt?: string
  outcomeUnknownSince?: string
  /** What the provider reported about its job, and when. */
  outcome?: 'done' | 'refused'
  outcomeAt?: string
  /** How often its job was polled, and when last. Absent of a task that ended before this was counted. */
  polls?: number
  polledAt?: string
  /** When the first download of the result began. */
  storingAt?: string
  /** Why this provider was chosen. Only of a task that has not ended, or that failed; so are `health` and `isStopped`. */
  decision?: Decision
  /** Why the provider was not called for the model. */
  health?: { reason: string; isUnauthorized: boolean }
  /** Whether the budget of the provider stopped new work. */
  isStopped?: boolean
}

/** The state of a row `o` of `open_tasks`, as SQL. `isWhole` is a condition. */
export const workState = (isWhole: string): string =>
  `jsonb_strip_nulls(jsonb_build_object(
     'stage', o.stage, 'submits', o.submits, 'lostRuns', o.lost_runs, 'failedDownloads', o.failed_downloads,
     'deadlineAt', o.deadline_at, 'submittedAt', o.submitted_at, 'outcomeUnknownSince', o.outcome_unknown_since,
     'outcome', o.outcome ->> 'kind', 'outcomeAt', o.outcome_at,
     'polls', o.polls, 'polledAt', o.polled_at, 'storingAt', o.storing_at,
     'decision', case when ${isWhole} then o.decision end,
     'isStopped', case when ${isWhole} then
       (select true from provider_spend s
         where s.provider = o.provider and ${isStopped('s')}) end,
     'health', case when ${isWhole} then
       (select jsonb_build_object('reason', h.reason, 'isUnauthorized', h.is_unauthorized) from route_health h
         where h.provider = o.provider and h.model = o.model and h.recovered_at is null) end))`

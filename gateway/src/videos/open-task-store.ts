/** Tasks that have not ended: their stage, their current run, and the outcome of their job. */
import type { Database } from '../platform/postgres.ts'
import type { Decision } from '../routing/route.ts'
import type { Outcome } from './task.ts'

export interface OpenTask {
  taskId: string
  day: string
  accountId: string
  provider: string
  model: string
  /** Why this provider was chosen. */
  decision: Decision | null
  /** Providers that refused the task. */
  tried: string[]
  stage: 'accepted' | 'starting' | 'submitting' | 'waiting' | 'storing'
  run: number
  submits: number
  refusals: number
  /** Since when the outcome of a submit is unknown: the provider may have received it. */
  outcomeUnknownSince: Date | null
  upstream: unknown
  submittedAt: Date | null
  outcome: Outcome | null
  outcomeAt: Date | null
  deadlineAt: Date
  isOverdue: boolean
}

const openColumns = `task_id as "taskId", day, account_id as "accountId", provider, model, decision, tried_providers as tried, stage, run,
  submits, refusals, outcome_unknown_since as "outcomeUnknownSince", upstream, submitted_at as "submittedAt", outcome,
  outcome_at as "outcomeAt", deadline_at as "deadlineAt", deadline_at <= now() as "isOverdue"`

/**
 * Begins a step of a run: stores the awakeable and a heartbeat. Returns undefined if the task has ended or a newer run
 * has replaced this one; the step then has nothing to do.
 */
export const touchRun = async (
  database: Database,
  taskId: string,
  run: number,
  changes: { awakeable?: string; stage?: 'storing' } = {},
): Promise<OpenTask | undefined> => {
  const { rows } = await database.query<OpenTask & Record<string, unknown>>(
    `update open_tasks
        set last_activity_at = now(), awakeable = coalesce($3, awakeable), stage = coalesce($4, stage)
      where task_id = $1 and run = $2 returning ${openColumns}`,
    [taskId, run, changes.awakeable ?? null, changes.stage ?? null],
  )
  return rows[0]
}

/** The job recorded for a task; undefined if there is none or the task has ended. */
export const findUpstream = async (database: Database, taskId: string): Promise<unknown> => {
  const { rows } = await database.query<{ upstream: unknown }>(
    `select upstream from open_tasks where task_id = $1 and upstream is not null`,
    [taskId],
  )
  return rows[0]?.upstream
}

/** The task's job whose outcome is not known yet; undefined if there is none. */
export const findRunningJob = async (
  database: Database,
  taskId: string,
): Promise<{ provider: string; upstream: unknown; awakeable: string | null } | undefined> => {
  const { rows } = await database.query<{ provider: string; upstream: unknown; awakeable: string | null }>(
    `select provider, upstream, awakeable from open_tasks
      where task_id = $1 and upstream is not null and outcome is null`,
    [taskId],
  )
  return rows[0]
}

/** Records the outcome of a job. The first outcome wins. */
export const recordOutcome = async (database: Database, taskId: string, outcome: Outcome): Promise<void> => {
  await database.query(
    `update open_tasks set outcome = coalesce(outcome, $2), outcome_at = coalesce(outcome_at, now()), last_activity_at = now()
      where task_id = $1`,
    [taskId, JSON.stringify(outcome)],
  )
}

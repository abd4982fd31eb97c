/** Tasks that have not ended: their stage, their current run, and the outcome of their job. */
import type { Run } from '../platform/engine/run-key.ts'
import type { Database } from '../platform/postgres.ts'
import type { Decision } from '../routing/route.ts'
import type { Outcome } from './task.ts'

/**
 * An open task as read by a step. Its times are on the monotonic clock of this process (`performance.now()`), converted
 * from ages that the database computes, so that no step depends on the wall clock of its worker.
 */
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
  /** Submits begun so far; never decreases. */
  submits: number
  refusals: number
  /** Since when the outcome of a submit is unknown: the provider may have received it. */
  outcomeUnknownSinceMs: number | null
  upstream: unknown
  outcome: Outcome | null
  outcomeAtMs: number | null
  deadlineMs: number
  isOverdue: boolean
}

interface OpenRow extends Omit<OpenTask, 'outcomeUnknownSinceMs' | 'outcomeAtMs' | 'deadlineMs'> {
  outcomeUnknownAgeMs: number | null
  outcomeAgeMs: number | null
  remainingMs: number
}

const ageMs = (column: string) => `extract(epoch from now() - ${column}) * 1000`

const openColumns = `task_id as "taskId", day, account_id as "accountId", provider, model, decision, tried_providers as tried, stage, run,
  submits, refusals, upstream, outcome, ${ageMs('outcome_unknown_since')} as "outcomeUnknownAgeMs",
  ${ageMs('outcome_at')} as "outcomeAgeMs", -${ageMs('deadline_at')} as "remainingMs", deadline_at <= now() as "isOverdue"`

const openTaskOf = ({ outcomeUnknownAgeMs, outcomeAgeMs, remainingMs, ...row }: OpenRow): OpenTask => {
  const nowMs = performance.now()
  return {
    ...row,
    outcomeUnknownSinceMs: outcomeUnknownAgeMs === null ? null : nowMs - outcomeUnknownAgeMs,
    outcomeAtMs: outcomeAgeMs === null ? null : nowMs - outcomeAgeMs,
    deadlineMs: nowMs + remainingMs,
  }
}

// An engine that was restored from a copy may wait for an outcome that it has been told before.
export const notifyStoringMs = 15_000

/**
 * Begins a step of a run: records where its outcome is to be sent, or that its result is being stored. Returns undefined
 * if the task has ended or a newer run has replaced this one; the step then has nothing to do.
 */
export const beginStep = async (
  database: Database,
  { taskId, run }: Run,
  { awakeable, stage }: { awakeable: string; stage?: never } | { stage: 'storing'; awakeable?: never },
): Promise<OpenTask | undefined> => {
  const { rows } = await database.query<OpenRow & Record<string, unknown>>(
    `update open_tasks set awakeable = coalesce($3, awakeable), stage = coalesce($4, stage),
            next_poll_at = case when $4 = 'storing' then now() + make_interval(secs => $5 / 1000.0) else next_poll_at end
      where task_id = $1 and run = $2 returning ${openColumns}`,
    [taskId, run, awakeable ?? null, stage ?? null, notifyStoringMs],
  )
  return rows[0] === undefined ? undefined : openTaskOf(rows[0])
}

/** Whether the task is open and no newer run has replaced this one. */
export const isCurrentRun = async (database: Database, { taskId, run }: Run): Promise<boolean> => {
  const { rowCount } = await database.query(`select from open_tasks where task_id = $1 and run = $2`, [
    taskId,
    run,
  ])
  return rowCount === 1
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
    `update open_tasks set outcome = coalesce(outcome, $2), outcome_at = coalesce(outcome_at, now())
      where task_id = $1`,
    [taskId, JSON.stringify(outcome)],
  )
}

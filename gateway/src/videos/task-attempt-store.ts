/** Every submit of a task to a provider, with its outcome and the reason for a failure. Operators read them. */
import type { Database } from '../platform/postgres.ts'
import type { Exchange } from '../providers/port/exchange.ts'
import type { FailureKind } from '../providers/port/failure.ts'
import type { Decision } from '../routing/route.ts'

/** One submit of a task to a provider. */
export interface Attempt {
  taskId: string
  day: string
  provider: string
  upstreamModel: string
  decision: Decision | null
  startedAt: Date
  outcome: 'accepted' | FailureKind
  /** The provider accepted a second job for the task. */
  isDuplicate: boolean
  exchanges: Exchange[]
  /** Redacted; null if the attempt did not fail. */
  failureReason: string | null
}

export const recordAttempt = async (database: Database, attempt: Attempt): Promise<void> => {
  await database.query(
    `insert into task_attempts (day, task_id, attempt, provider, upstream_model, decision, started_at, outcome,
                                is_duplicate, exchanges, failure_reason)
     select $1, $2, coalesce(max(attempt), 0) + 1, $3, $4, $5, $6, $7, $8, $9, $10
       from task_attempts where day = $1 and task_id = $2
     on conflict do nothing`,
    [
      attempt.day,
      attempt.taskId,
      attempt.provider,
      attempt.upstreamModel,
      attempt.decision === null ? null : JSON.stringify(attempt.decision),
      attempt.startedAt,
      attempt.outcome,
      attempt.isDuplicate,
      JSON.stringify(attempt.exchanges),
      attempt.failureReason,
    ],
  )
}

/** Why a job failed after its provider had accepted it. */
export interface JobFailure {
  taskId: string
  day: string
  provider: string
  /** Redacted. */
  reason: string
}

/**
 * Stores the reason with the attempt that created the job: the accepted one or, if the job was found later, the last
 * one with an unknown outcome. The first reason wins.
 */
export const recordJobFailures = async (database: Database, failures: JobFailure[]): Promise<void> => {
  if (failures.length === 0) return
  await database.query(
    `update task_attempts a set failure_reason = f.reason
       from jsonb_to_recordset($1::jsonb) as f ("taskId" text, day date, provider text, reason text)
      where a.day = f.day and a.task_id = f."taskId" and a.attempt = (
        select attempt from task_attempts
         where day = f.day and task_id = f."taskId" and provider = f.provider and not is_duplicate
           and outcome in ('accepted', 'unknown')
         order by outcome = 'accepted' desc, attempt desc limit 1)
        and (a.outcome = 'unknown' or a.failure_reason is null)`,
    [JSON.stringify(failures)],
  )
}

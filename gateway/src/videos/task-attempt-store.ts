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

/**
 * Records attempts. One that is recorded already is left as it is: an attempt is known by its provider and its start. An attempt
 * of a deleted task is dropped; the lock makes a concurrent deletion wait, and then see it.
 */
export const recordAttempts = async (database: Database, attempts: Attempt[]): Promise<void> => {
  if (attempts.length === 0) return
  await database.query(
    `with given as materialized (
       select * from jsonb_to_recordset($1::jsonb) as g
         (day date, "taskId" text, provider text, "upstreamModel" text, decision jsonb, "startedAt" timestamptz,
          outcome text, "isDuplicate" boolean, exchanges jsonb, "failureReason" text)
     ), stored as materialized (
       select t.id from given join video_tasks t on t.day = given.day and t.id = given."taskId"
        where t.day = any($2::date[]) for key share of t
     )
     insert into task_attempts (day, task_id, attempt, provider, upstream_model, decision, started_at, outcome,
                                is_duplicate, exchanges, failure_reason)
     select day, "taskId", 1 + (select coalesce(max(a.attempt), 0) from task_attempts a
                                 where a.day = given.day and a.task_id = given."taskId"),
            provider, "upstreamModel", decision, "startedAt", outcome, "isDuplicate", exchanges, "failureReason"
       from given
      where "taskId" in (select id from stored)
        and not exists (select from task_attempts a
                         where a.day = given.day and a.task_id = given."taskId" and a.provider = given.provider
                           and a.started_at = given."startedAt")
     on conflict do nothing`,
    [JSON.stringify(attempts), [...new Set(attempts.map(({ day }) => day))]],
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

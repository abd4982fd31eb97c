/** The changes of an open task while it is submitted to a provider. */
import type { Run } from '../../platform/engine/run-key.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Decision } from '../../routing/route.ts'
import type { OpenTask } from '../open-task-store.ts'
import { shardOf } from '../shard.ts'

/** The record as an execution of the submit step has read it. `submits` tells whether another one has begun a submit. */
export type ReadRecord = Pick<OpenTask, 'taskId' | 'run' | 'submits'>

/**
 * Records the intent to submit, and where the outcome is to be sent, before the provider is called. From here on the
 * outcome counts as unknown, until it is recorded. Returns false if another execution of the step has begun a submit since
 * the record was read, a newer run has replaced this one, or there is a job already. So at most one of the executions that
 * read the same record submits.
 */
export const beginSubmit = async (
  database: Database,
  { taskId, run, submits }: ReadRecord,
  { costMicros, awakeable }: { costMicros: number | undefined; awakeable: string },
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks
        set stage = 'submitting', submits = submits + 1, cost_micros = $4, awakeable = $5,
            outcome_unknown_since = coalesce(outcome_unknown_since, now())
      where task_id = $1 and run = $2 and submits = $3 and stage in ('starting', 'submitting') and upstream is null`,
    [taskId, run, submits, costMicros ?? null, awakeable],
  )
  return rowCount === 1
}

/** `not_recorded`: the task has a job already, or has ended · `claimed_by_other`: the job belongs to another task. */
export type SubmitRecord = 'recorded' | 'not_recorded' | 'claimed_by_other'

/**
 * Records the job that a provider returned for a submit. The first job wins, whichever run reports it: a job that a
 * provider accepted is never forgotten and never shown to two customers. The task is locked before the job, in the same
 * order as a webhook locks them, because both may happen at the same time.
 */
export const recordSubmitted = async (
  database: Database,
  { taskId, provider }: { taskId: string; provider: string },
  upstream: unknown,
  firstPollMs: number,
  awakeable?: string,
): Promise<SubmitRecord> => {
  const { rows } = await database.query<{ isOurs: boolean; isFirst: boolean }>(
    `with locked as materialized (
       select from open_tasks where task_id = $1 for update
     ), claimed as (
       insert into claimed_jobs (provider, job, task_id)
       select $4, md5($2::jsonb::text)::uuid, $1 from (select count(*) from locked) once
       on conflict (provider, job) do update set claimed_at = claimed_jobs.claimed_at
         where claimed_jobs.task_id = excluded.task_id
       returning task_id
     ), recorded as (
       update open_tasks
          set stage = 'waiting', upstream = $2, awakeable = coalesce($5, awakeable),
              submitted_at = coalesce(outcome_unknown_since, now()), outcome_unknown_since = null,
              next_poll_at = now() + make_interval(secs => $3 / 1000.0)
        where task_id = $1 and upstream is null and exists (select from claimed) returning task_id
     )
     select exists (select from claimed) as "isOurs", exists (select from recorded) as "isFirst"`,
    [taskId, JSON.stringify(upstream), firstPollMs, provider, awakeable ?? null],
  )
  if (rows[0]?.isOurs !== true) return 'claimed_by_other'
  return rows[0].isFirst ? 'recorded' : 'not_recorded'
}

export interface Requeue {
  waitMs: number
  /** The provider certainly refused the task, so any provider may be tried. Otherwise it stays with its provider. */
  isRefused: boolean
  /** The provider to move to; undefined to stay. */
  to?: { provider: string; shards: number; decision: Decision } | undefined
}

/**
 * Puts a task back into the queue, of its own provider or of another one, and frees its slot. A refusal has no effect if
 * another execution has begun a submit since, because it says nothing about that one. It takes the task back from an
 * execution that waits for the deadline, because it resolves the outcome that was unknown.
 */
export const returnToQueue = async (
  database: Database,
  { taskId, day, run, provider, submits }: ReadRecord & Pick<OpenTask, 'day' | 'provider'>,
  { waitMs, isRefused, to }: Requeue,
): Promise<void> => {
  await database.query(
    `with moved as (
       update open_tasks
          set stage = 'accepted',
              refusals = refusals + case when $4 then 1 else 0 end,
              tried_providers = case when $4 and not $5 = any (tried_providers) then tried_providers || $5::text else tried_providers end,
              outcome_unknown_since = case when $4 then null else outcome_unknown_since end,
              provider = coalesce($6, provider), shard = coalesce($7, shard), decision = coalesce($8, decision),
              not_before = least(deadline_at, now() + make_interval(secs => $3 / 1000.0))
        where task_id = $1 and run = $2 and upstream is null
          and (stage in ('starting', 'submitting') or ($4 and stage = 'waiting')) and (submits = $10 or not $4)
       returning task_id
     )
     update video_tasks t set provider = $6
       from moved where $6::text is not null and t.day = $9 and t.id = moved.task_id`,
    [
      taskId,
      run,
      waitMs,
      isRefused,
      provider,
      to?.provider ?? null,
      to === undefined ? null : shardOf(taskId, to.shards),
      to === undefined ? null : JSON.stringify(to.decision),
      day,
      submits,
    ],
  )
}

/**
 * Records that the provider certainly has no job for the task, so that it may be submitted again. Returns false if
 * another execution has begun a submit since.
 */
export const clearOutcomeUnknown = async (
  database: Database,
  { taskId, run, submits }: ReadRecord,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks set outcome_unknown_since = null
      where task_id = $1 and run = $2 and submits = $3 and upstream is null`,
    [taskId, run, submits],
  )
  return rowCount === 1
}

/**
 * Lets a task whose submit has an unknown outcome wait for a webhook or its deadline. It is not submitted again. If a webhook
 * has named its job meanwhile, the task waits for that one.
 */
export const waitForDeadline = async (
  database: Database,
  { taskId, run }: Run,
  awakeable: string,
): Promise<void> => {
  await database.query(
    `update open_tasks
        set awakeable = $3, stage = case when upstream is null then 'waiting' else stage end,
            next_poll_at = case when upstream is null then null else next_poll_at end
      where task_id = $1 and run = $2`,
    [taskId, run, awakeable],
  )
}

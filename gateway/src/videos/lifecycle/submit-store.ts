/** The changes of an open task while it is submitted to a provider. */
import { nextRunAfter, type Run } from '../../platform/engine/run-key.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Decision } from '../../routing/route.ts'
import { returnChanges } from '../../tasks/queue-store.ts'
import type { OpenTask } from '../open-task-store.ts'
import { shardOf } from '../shard.ts'

/** The record as an execution of the submit step has read it. `submits` tells whether another one has begun a submit. */
export type ReadRecord = Pick<OpenTask, 'taskId' | 'run' | 'submits'>

/** What an execution records before it calls the provider. */
export interface SubmitIntent extends ReadRecord {
  costMicros: number | undefined
}

/**
 * Records the intents to submit before the providers are called, and returns the tasks that may be submitted. From here on the
 * outcome counts as unknown, until it is recorded. A task is left out if another execution of the step has begun a submit
 * since the record was read, a newer run has replaced this one, or there is a job already. So at most one of the executions
 * that read the same record submits. No task may be given twice; the tasks are locked in a fixed order.
 */
export const beginSubmits = async (database: Database, intents: SubmitIntent[]): Promise<Set<string>> => {
  const { rows } = await database.query<{ id: string }>(
    `with locked as materialized (
       select task_id from open_tasks where task_id = any($1::text[]) order by task_id for update
     )
     update open_tasks o
        set stage = 'submitting', submits = o.submits + 1, cost_micros = given."costMicros",
            outcome_unknown_since = coalesce(o.outcome_unknown_since, now())
       from jsonb_to_recordset($2::jsonb) as given
         ("taskId" text, run bigint, submits integer, "costMicros" bigint)
       join locked on locked.task_id = given."taskId"
      where o.task_id = given."taskId" and o.run = given.run and o.submits = given.submits
        and o.stage in ('starting', 'submitting') and o.upstream is null
     returning o.task_id as id`,
    [
      intents.map(({ taskId }) => taskId),
      JSON.stringify(
        intents.map(({ taskId, run, submits, costMicros }) => ({ taskId, run, submits, costMicros })),
      ),
    ],
  )
  return new Set(rows.map(({ id }) => id))
}

/** `not_recorded`: the task has a job already, or has ended · `claimed_by_other`: the job belongs to another task. */
export type SubmitRecord = 'recorded' | 'not_recorded' | 'claimed_by_other'

/** A job that a provider returned for a submit. */
export interface SubmittedJob {
  taskId: string
  provider: string
  upstream: unknown
  firstPollMs: number
}

/**
 * Records jobs, and returns what came of each, by task. The first job wins, whichever run reports it: a job that a provider
 * accepted is never forgotten and never shown to two customers. A job of a provider that an operator has taken the task away
 * from is not recorded. Tasks are locked before jobs, in the same order as a webhook
 * locks them, because both may happen at the same time. No task and no job may be given twice.
 */
export const recordSubmitted = async (
  database: Database,
  jobs: SubmittedJob[],
): Promise<Map<string, SubmitRecord>> => {
  const { rows } = await database.query<{ taskId: string; isOurs: boolean; isFirst: boolean }>(
    `with given as materialized (
       select g.*, md5(g.upstream::text)::uuid as job
         from jsonb_to_recordset($1::jsonb) as g
           ("taskId" text, provider text, upstream jsonb, "firstPollMs" double precision)
     ), locked as materialized (
       select task_id from open_tasks where task_id = any($2::text[]) order by task_id for update
     ), claimed as (
       insert into claimed_jobs (provider, job, task_id)
       select provider, job, "taskId" from given, (select count(*) from locked) once order by provider, job
       on conflict (provider, job) do update set claimed_at = claimed_jobs.claimed_at
         where claimed_jobs.task_id = excluded.task_id
       returning task_id
     ), recorded as (
       update open_tasks o
          set stage = 'waiting', upstream = given.upstream,
              submitted_at = coalesce(o.outcome_unknown_since, now()), outcome_unknown_since = null,
              next_poll_at = least(o.deadline_at, now() + make_interval(secs => given."firstPollMs" / 1000.0))
         from given join claimed on claimed.task_id = given."taskId"
        where o.task_id = given."taskId" and o.upstream is null and o.provider = given.provider returning o.task_id
     )
     select "taskId", claimed.task_id is not null as "isOurs", recorded.task_id is not null as "isFirst"
       from given
       left join claimed on claimed.task_id = given."taskId"
       left join recorded on recorded.task_id = given."taskId"`,
    [JSON.stringify(jobs), jobs.map(({ taskId }) => taskId)],
  )
  return new Map(
    rows.map(({ taskId, isOurs, isFirst }) => [
      taskId,
      isOurs ? (isFirst ? 'recorded' : 'not_recorded') : 'claimed_by_other',
    ]),
  )
}

/** Another provider for a task. */
export interface Target {
  provider: string
  shards: number
  decision: Decision
  /** What the task costs there; undefined if unknown. */
  costMicros: number | undefined
}

export interface Requeue {
  waitMs: number
  /** The provider certainly refused the task, so any provider may be tried. Otherwise it stays with its provider. */
  isRefused: boolean
  /** The provider to move to; undefined to stay. */
  to?: Target | undefined
}

/**
 * Puts a task back into the queue, of its own provider or of another one, and frees its slot. If another execution has begun a
 * submit since, a refusal has no effect, because it says nothing about that one, and neither has a move, because there may be a
 * job now. A refusal takes the task back from an execution that waits for the deadline, because it resolves the outcome that
 * was unknown.
 */
export const returnToQueue = async (
  database: Database,
  { taskId, day, run, provider, submits }: ReadRecord & Pick<OpenTask, 'day' | 'provider'>,
  { waitMs, isRefused, to }: Requeue,
): Promise<void> => {
  await database.query(
    `with moved as (
       update open_tasks
          set ${returnChanges('$3')},
              refusals = refusals + case when $4 then 1 else 0 end,
              tried_providers = case when $4 and not $5 = any (tried_providers) then tried_providers || $5::text else tried_providers end,
              outcome_unknown_since = case when $4 then null else outcome_unknown_since end,
              provider = coalesce($6, provider), shard = coalesce($7, shard), decision = coalesce($8, decision),
              cost_micros = case when $6::text is null then cost_micros else $11 end
        where task_id = $1 and run = $2 and upstream is null
          and (stage in ('starting', 'submitting') or ($4 and stage = 'waiting')) and (submits = $10 or not ($4 or $6::text is not null))
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
      to?.costMicros ?? null,
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
export const waitForDeadline = async (database: Database, { taskId, run }: Run): Promise<void> => {
  await database.query(
    `update open_tasks set stage = 'waiting', next_poll_at = deadline_at
      where task_id = $1 and run = $2 and upstream is null`,
    [taskId, run],
  )
}

/** A task whose submit has an unknown outcome, and no submit in progress. */
export type UnknownOutcome = Pick<OpenTask, 'provider' | 'tried'>

/** Locks the task, and returns undefined if the outcome of its submit is known, or the submit is in progress. */
export const lockUnknownOutcome = async (
  database: Database,
  taskId: string,
): Promise<UnknownOutcome | undefined> => {
  const { rows } = await database.query<UnknownOutcome & Record<string, unknown>>(
    `select provider, tried_providers as tried from open_tasks
      where task_id = $1 and stage in ('waiting', 'accepted') and upstream is null and outcome is null
        and outcome_unknown_since is not null
        for update`,
    [taskId],
  )
  return rows[0]
}

/**
 * Gives a locked task to another provider, because an operator has decided that the current one has no job for it. It gets a new
 * run, so that an execution of an earlier one changes nothing any more.
 */
export const moveUnknownOutcome = async (
  database: Database,
  { taskId, day }: Pick<OpenTask, 'taskId' | 'day'>,
  to: Target,
): Promise<void> => {
  await database.query(
    `with moved as (
       update open_tasks o
          set stage = 'accepted', run = ${nextRunAfter('o.run')}, outcome_unknown_since = null, not_before = now(),
              refusals = o.refusals + 1, tried_providers = o.tried_providers || o.provider,
              provider = $3, shard = $4, decision = $5, cost_micros = $6
        where task_id = $1 returning task_id
     )
     update video_tasks t set provider = $3 from moved where t.day = $2 and t.id = moved.task_id`,
    [
      ...[taskId, day, to.provider, shardOf(taskId, to.shards), JSON.stringify(to.decision)],
      to.costMicros ?? null,
    ],
  )
}

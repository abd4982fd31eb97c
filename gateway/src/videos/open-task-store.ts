/** What is under way: what the engine's loops and steps note down of it, and how what they lost is found. */
import type { Database } from '../platform/postgres.ts'
import type { Exchange } from '../providers/port/exchange.ts'
import type { FailureKind } from '../providers/port/failure.ts'
import type { Decision } from '../routing/route.ts'
import { shardOf } from './shard.ts'
import type { Outcome } from './task.ts'

export interface Start {
  taskId: string
  run: number
}

// How long each stage may be silent before the engine is taken to have lost the task. A stage that calls
// out allows for its longest call and this much; keeping a result says every few seconds that it is alive.
const silenceSeconds = { starting: 10, submitting: 30, waiting: 15, storing: 30 }

/**
 * Hands tasks to the engine again that it seems to have lost: silent for too long, past their deadline, or
 * with an outcome nobody came for. They have their slot already, or need none to end. A raised run makes any older one end at
 * its next step; a start that was only not heard of yet is repeated as the same run, which costs nothing.
 */
export const requeueStalled = async (
  database: Database,
  provider: string,
  limit: number,
  submitMsMax: number,
): Promise<Start[]> => {
  const { rows } = await database.query<{ taskId: string; run: number }>(
    `update open_tasks o
        set run = case when stage = 'starting' and deadline_at > now() then run else run + 1 end,
            last_activity_at = now(), stage = case when stage = 'accepted' then 'starting' else stage end
      where o.task_id in (
        (select task_id from open_tasks
          where provider = $1 and stage <> 'accepted' and (
            last_activity_at = 'epoch'
            or (stage = 'starting' and last_activity_at < now() - make_interval(secs => $3))
            or (stage = 'submitting' and last_activity_at < now() - make_interval(secs => $4))
            or (stage = 'waiting' and outcome is not null and last_activity_at < now() - make_interval(secs => $5))
            or (stage = 'storing' and last_activity_at < now() - make_interval(secs => $6))
            or (deadline_at < now() - make_interval(secs => $5) and last_activity_at < now() - make_interval(secs => $5))))
        union all
        (select task_id from open_tasks
          where provider = $1 and stage = 'accepted' and deadline_at < now() - make_interval(secs => $5)
          order by deadline_at limit $2)
        limit $2)
     returning o.task_id as "taskId", o.run`,
    [
      provider,
      limit,
      silenceSeconds.starting,
      silenceSeconds.submitting + submitMsMax / 1000,
      silenceSeconds.waiting,
      silenceSeconds.storing,
    ],
  )
  return rows
}

/**
 * Makes every task the engine was carrying count as lost, for an engine that starts empty. Also those that
 * wait at a provider: nobody is left to hear their news.
 */
export const markAllStalled = async (database: Database): Promise<number> => {
  const { rowCount } = await database.query(
    `update open_tasks set last_activity_at = 'epoch' where stage <> 'accepted'`,
  )
  return rowCount ?? 0
}

export interface OpenTask {
  taskId: string
  day: string
  accountId: string
  provider: string
  model: string
  /** Why this provider. */
  decision: Decision | null
  /** Providers that turned it away. */
  tried: string[]
  stage: 'accepted' | 'starting' | 'submitting' | 'waiting' | 'storing'
  run: number
  submits: number
  refusals: number
  /** Since when a submit may have reached its provider without our having heard what came of it. */
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
 * Begins a step of a run: notes the awakeable and that the task is alive. Answers nothing when the task
 * has ended or this run was overtaken by a newer one; the step then has nothing to do.
 */
export const touchRun = async (
  database: Database,
  taskId: string,
  run: number,
  note: { awakeable?: string; stage?: 'storing' } = {},
): Promise<OpenTask | undefined> => {
  const { rows } = await database.query<OpenTask & Record<string, unknown>>(
    `update open_tasks
        set last_activity_at = now(), awakeable = coalesce($3, awakeable), stage = coalesce($4, stage)
      where task_id = $1 and run = $2 returning ${openColumns}`,
    [taskId, run, note.awakeable ?? null, note.stage ?? null],
  )
  return rows[0]
}

/** Records the intent to submit, before the provider hears of it: from here on nobody knows, until an answer is recorded. */
export const beginSubmit = async (database: Database, taskId: string, run: number): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks
        set stage = 'submitting', submits = submits + 1, outcome_unknown_since = coalesce(outcome_unknown_since, now()), last_activity_at = now()
      where task_id = $1 and run = $2 and stage in ('starting', 'submitting') and upstream is null`,
    [taskId, run],
  )
  return rowCount === 1
}

/** `known`: there was a job already, or nobody waits any more · `another's`: the job was taken for another task. */
export type Recorded = 'first' | 'known' | "another's"

/**
 * Records what a provider answered to a submit. The first answer stands whichever run brings it: a job
 * that a provider has taken must never be forgotten, and never be shown to two customers. The task is locked before the
 * job, as news lock them, which may come at the same moment.
 */
export const recordSubmitted = async (
  database: Database,
  { taskId, provider }: { taskId: string; provider: string },
  upstream: unknown,
  firstPollMs: number,
): Promise<Recorded> => {
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
          set stage = 'waiting', upstream = $2, submitted_at = coalesce(outcome_unknown_since, now()), last_activity_at = now(),
              outcome_unknown_since = null,
              next_poll_at = now() + make_interval(secs => $3 / 1000.0)
        where task_id = $1 and upstream is null and exists (select from claimed) returning task_id
     )
     select exists (select from claimed) as "isOurs", exists (select from recorded) as "isFirst"`,
    [taskId, JSON.stringify(upstream), firstPollMs, provider],
  )
  if (rows[0]?.isOurs !== true) return "another's"
  return rows[0].isFirst ? 'first' : 'known'
}

/** The job that was recorded for a task; undefined where there is none, or the task has ended. */
export const findUpstream = async (database: Database, taskId: string): Promise<unknown> => {
  const { rows } = await database.query<{ upstream: unknown }>(
    `select upstream from open_tasks where task_id = $1 and upstream is not null`,
    [taskId],
  )
  return rows[0]?.upstream
}

/** The job that a provider works on for a task and of which no outcome is known; undefined where there is none. */
export const findJobUnderWay = async (
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

/** One time that a provider was asked to take a task. */
export interface Attempt {
  taskId: string
  day: string
  provider: string
  upstreamModel: string
  decision: Decision | null
  startedAt: Date
  outcome: 'accepted' | FailureKind
  /** The provider took a job for it although another was taken before. */
  isDuplicate: boolean
  exchanges: Exchange[]
  /** Why it came to nothing, redacted; null where it did not. */
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

/** Why a job came to nothing after its provider had taken it. */
export interface JobFailure {
  taskId: string
  day: string
  provider: string
  /** Redacted. */
  reason: string
}

/**
 * Keeps the reason with the attempt that the job is of: the one that was taken, or the last one whose outcome was unknown
 * where the job was found later. The first reason stands.
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

export interface Requeued {
  waitMs: number
  /** It was turned away for certain: no provider has it, and any may be asked. Otherwise it stays with its own. */
  turnedAway: boolean
  /** Where it goes on; undefined for where it is. */
  to?: { provider: string; shards: number; decision: Decision } | undefined
}

/** Puts a task back in line; its slot is free again. Its record goes along to another provider. */
export const returnToQueue = async (
  database: Database,
  { taskId, day, run, provider }: Pick<OpenTask, 'taskId' | 'day' | 'run' | 'provider'>,
  { waitMs, turnedAway, to }: Requeued,
): Promise<void> => {
  await database.query(
    `with moved as (
       update open_tasks
          set stage = 'accepted', last_activity_at = now(),
              submits = submits - case when $4 then 1 else 0 end, refusals = refusals + case when $4 then 1 else 0 end,
              tried_providers = case when $4 and not $5 = any (tried_providers) then tried_providers || $5::text
                                     else tried_providers end,
              outcome_unknown_since = case when $4 then null else outcome_unknown_since end,
              provider = coalesce($6, provider), shard = coalesce($7, shard), decision = coalesce($8, decision),
              not_before = least(deadline_at, now() + make_interval(secs => $3 / 1000.0))
        where task_id = $1 and run = $2 and upstream is null and stage in ('starting', 'submitting') returning task_id
     )
     update video_tasks t set provider = $6
       from moved where $6::text is not null and t.day = $9 and t.id = moved.task_id`,
    [
      taskId,
      run,
      waitMs,
      turnedAway,
      provider,
      to?.provider ?? null,
      to === undefined ? null : shardOf(taskId, to.shards),
      to === undefined ? null : JSON.stringify(to.decision),
      day,
    ],
  )
}

/** The provider does not have it after all: what was unsure is now known. */
export const clearOutcomeUnknown = async (database: Database, taskId: string, run: number): Promise<void> => {
  await database.query(
    `update open_tasks set outcome_unknown_since = null, submits = 0, last_activity_at = now()
      where task_id = $1 and run = $2 and upstream is null`,
    [taskId, run],
  )
}

/** Keeps a provider's final word; the first one stands. */
export const recordOutcome = async (database: Database, taskId: string, outcome: Outcome): Promise<void> => {
  await database.query(
    `update open_tasks set outcome = coalesce(outcome, $2), outcome_at = coalesce(outcome_at, now()), last_activity_at = now()
      where task_id = $1`,
    [taskId, JSON.stringify(outcome)],
  )
}

/** Leaves a job whose submit may or may not have arrived to its deadline: never repeated, never forgotten. */
export const waitOut = async (database: Database, taskId: string, run: number): Promise<void> => {
  await database.query(
    `update open_tasks set stage = 'waiting', next_poll_at = null, last_activity_at = now()
      where task_id = $1 and run = $2 and upstream is null`,
    [taskId, run],
  )
}

export interface DuePoll {
  taskId: string
  day: string
  run: number
  awakeable: string | null
  upstream: unknown
  /** Already known; the workflow has only to be told again. */
  outcome: Outcome | null
  /** Since the provider took the job. */
  elapsedMs: number
  model: string
  /** When it was to be checked, to the digit. */
  dueAt: string
}

// Jobs of a time when there were more shards are the first one's.
const isOfShard = '(o.shard = $2 or ($2 = 0 and o.shard >= $3))'

export const findDuePolls = async (
  database: Database,
  provider: string,
  shard: number,
  shards: number,
  limit: number,
): Promise<DuePoll[]> => {
  const { rows } = await database.query<DuePoll & Record<string, unknown>>(
    `select o.task_id as "taskId", o.day, o.run, o.awakeable, o.upstream, o.outcome, t.model,
            extract(epoch from now() - o.submitted_at) * 1000 as "elapsedMs", o.next_poll_at::text as "dueAt"
       from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
      where o.provider = $1 and ${isOfShard} and o.stage = 'waiting' and o.next_poll_at <= now()
      order by o.next_poll_at limit $4`,
    [provider, shard, shards, limit],
  )
  return rows
}

export interface PollNote {
  taskId: string
  day: string
  nextPollMs: number
  progress: number | null
  outcome: Outcome | null
  /** Where given and it is due at another time by now, news came during the check: it is checked again then. */
  dueAt?: string
}

/** Writes what a turn of checks found. Progress only grows and stays below 100 until the video is ours. */
export const recordPolls = async (database: Database, notes: PollNote[]): Promise<void> => {
  if (notes.length === 0) return
  await database.query(
    `with given as (
       select * from jsonb_to_recordset($1::jsonb) as n
         ("taskId" text, day date, "nextPollMs" double precision, progress smallint, outcome jsonb, "dueAt" timestamptz)
     ), shown as (
       update video_tasks t
          set progress = greatest(t.progress, least(99, n.progress)), last_event = t.last_event + 1
         from given n where t.day = n.day and t.id = n."taskId" and n.progress > t.progress
          and t.state in ('pending', 'processing')
       returning t.day, t.id, t.progress, t.last_event
     ), told as (
       insert into task_events (day, task_id, id, kind, data)
       select day, id, last_event, 'progress', jsonb_build_object('progress', progress) from shown
     )
     update open_tasks o
        set next_poll_at = case when n.outcome is null and o.next_poll_at <> n."dueAt" then o.next_poll_at
                                 else now() + make_interval(secs => n."nextPollMs" / 1000.0) end,
            outcome = coalesce(o.outcome, n.outcome),
            outcome_at = coalesce(o.outcome_at, case when n.outcome is not null then now() end),
            last_activity_at = case when n.outcome is null then o.last_activity_at else now() end
       from given n where o.task_id = n."taskId" and o.stage = 'waiting'`,
    [JSON.stringify(notes)],
  )
}

/** When the next check of this shard is due, in milliseconds from now; undefined when nothing waits. */
export const nextPollInMs = async (
  database: Database,
  provider: string,
  shard: number,
  shards: number,
): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number | null }>(
    `select extract(epoch from min(next_poll_at) - now()) * 1000 as ms from open_tasks o
      where provider = $1 and ${isOfShard} and stage = 'waiting'`,
    [provider, shard, shards],
  )
  return rows[0]?.ms ?? undefined
}

/** Which jobs are due for a poll, and the results of polls. */
import { nextRunAfter, type Run } from '../../platform/engine/run-key.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Outcome } from '../task.ts'

export interface DuePoll {
  taskId: string
  day: string
  /** Null if the outcome of the submit is unknown. */
  upstream: unknown
  /** If known already, the job is not polled. */
  outcome: Outcome | null
  isOverdue: boolean
  /** A download of the result has failed or was too slow. */
  isRetry: boolean
  /** Since the provider accepted the job. */
  elapsedMs: number
  model: string
  traceContext: string | null
  /** When the poll was due, in full precision. */
  dueAt: string
}

const isPolled = `o.stage = 'waiting'`

/**
 * Combines a statement for each part of a shard: its own jobs and, in the first shard, those with a shard number that no longer
 * exists. One condition for both could not use the order of the index.
 */
const unitedParts = (shard: number, statementFor: (isOfPart: string) => string): string =>
  (shard === 0 ? ['o.shard = $2', 'o.shard >= $3'] : ['o.shard = $2 and $3 > 0'])
    .map((isOfPart) => `(${statementFor(isOfPart)})`)
    .join(' union all ')

/** Returns at most `limit` jobs of each part of the shard. */
export const findDuePolls = async (
  database: Database,
  provider: string,
  shard: number,
  shards: number,
  limit: number,
): Promise<DuePoll[]> => {
  const { rows } = await database.query<DuePoll & Record<string, unknown>>(
    unitedParts(
      shard,
      (isOfPart) =>
        `select o.task_id as "taskId", o.day, o.upstream, o.outcome, o.model, o.trace_context as "traceContext",
                o.deadline_at <= now() as "isOverdue", o.failed_downloads > 0 as "isRetry",
                extract(epoch from now() - o.submitted_at) * 1000 as "elapsedMs", o.next_poll_at::text as "dueAt"
           from open_tasks o
          where o.provider = $1 and ${isOfPart} and ${isPolled} and o.next_poll_at <= now()
          order by o.next_poll_at limit $4`,
    ),
    [provider, shard, shards, limit],
  )
  return rows
}

export interface PollResult {
  taskId: string
  day: string
  nextPollMs: number
  progress: number | null
  outcome: Outcome | null
  /** The provider was asked, so that this counts as a poll. */
  isPoll?: boolean
  /** The task needs a run that stores the result. */
  startsRun?: boolean
  /** If given and the job is due at another time by now, a webhook arrived during the poll: that time stays. */
  dueAt?: string
  /** The tick of the poll is over and has postponed the next one. If the job is due already, a webhook has arrived since. */
  isLate?: boolean
}

export interface RecordedPolls {
  runs: Run[]
  /** The tasks that have a new event. */
  advanced: string[]
}

/**
 * Writes the results of one tick, and returns the new runs that the tick must start and the tasks that have advanced. Progress only grows, and stays below
 * 100 until the video is stored. A job is polled at its deadline at the latest. The open tasks are locked first and in the
 * order in which tasks that end are locked.
 */
export const recordPolls = async (database: Database, results: PollResult[]): Promise<RecordedPolls> => {
  if (results.length === 0) return { runs: [], advanced: [] }
  const { rows } = await database.query<{ taskId: string; run: number | null }>(
    `with given as (
       select * from jsonb_to_recordset($1::jsonb) as n
         ("taskId" text, day date, "nextPollMs" double precision, progress smallint, outcome jsonb, "isPoll" boolean, "startsRun" boolean,
          "dueAt" timestamptz, "isLate" boolean)
     ), locked as materialized (
       select task_id from open_tasks where task_id = any($2::text[]) order by task_id for update
     ), advanced as (
       update video_tasks t
          set progress = greatest(t.progress, least(99, n.progress)), last_event = t.last_event + 1
         from given n join locked on locked.task_id = n."taskId"
        where t.day = n.day and t.id = n."taskId" and n.progress > t.progress
          and t.state in ('pending', 'processing')
       returning t.day, t.id, t.account_id, t.webhook, t.progress, t.last_event
     ), event as (
       insert into task_events (day, task_id, id, kind, data, account_id, webhook)
       select day, id, last_event, 'progress', jsonb_build_object('progress', progress), account_id, webhook from advanced
     ), polled as (
       update open_tasks o
          set next_poll_at = case when n."startsRun" or n.outcome is not null then now() + make_interval(secs => n."nextPollMs" / 1000.0)
                                  when o.next_poll_at <> n."dueAt" or n."isLate" and o.next_poll_at <= now() then o.next_poll_at
                                  else least(o.deadline_at, now() + make_interval(secs => n."nextPollMs" / 1000.0)) end,
              outcome = coalesce(o.outcome, n.outcome),
              outcome_at = coalesce(o.outcome_at, case when n.outcome is not null then now() end),
              polls = o.polls + case when n."isPoll" then 1 else 0 end,
              polled_at = case when n."isPoll" then now() else o.polled_at end,
              storing_at = coalesce(o.storing_at, case when n."startsRun" and coalesce(o.outcome, n.outcome) ->> 'kind' = 'done' then now() end),
              run = case when n."startsRun" then ${nextRunAfter('o.run')} else o.run end,
              stage = case when n."startsRun" then 'storing' else o.stage end
         from given n join locked on locked.task_id = n."taskId"
        where o.task_id = n."taskId" and ${isPolled}
       returning o.task_id, o.run, n."startsRun"
     )
     select task_id as "taskId", run from polled where "startsRun"
     union all select id, null from advanced`,
    [JSON.stringify(results), results.map(({ taskId }) => taskId)],
  )
  return {
    runs: rows.flatMap(({ taskId, run }) => (run === null ? [] : { taskId, run })),
    advanced: rows.flatMap(({ taskId, run }) => (run === null ? taskId : [])),
  }
}

/** When the next poll of this shard is due, in milliseconds from now; undefined if no job waits. */
export const nextPollInMs = async (
  database: Database,
  provider: string,
  shard: number,
  shards: number,
): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number | null }>(
    `select extract(epoch from min(next_poll_at) - now()) * 1000 as ms
       from (${unitedParts(
         shard,
         (isOfPart) =>
           `select next_poll_at from open_tasks o where provider = $1 and ${isOfPart} and ${isPolled} order by next_poll_at limit 1`,
       )}) as next`,
    [provider, shard, shards],
  )
  return rows[0]?.ms ?? undefined
}

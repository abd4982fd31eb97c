import type { Instant } from '../billing/ledger/ledger-store.ts'
import { matchMetadata } from '../metadata/match-metadata.ts'
import type { ListPosition } from '../platform/list-position.ts'
import type { Database } from '../platform/postgres.ts'
import type { Decision } from '../routing/route.ts'
import type { TaskWebhook } from '../tasks/task.ts'
import type { Ending, VideoTask } from './task.ts'
import { workState, type WorkState } from './work-state.ts'

/**
 * Needs the alias `t`, and `mediaExpiresAt` beside it. A task whose prompt was not changed has an empty `enhanced_prompt`, so
 * that the prompt is stored once.
 */
export const taskColumns = `t.id, t.day, t.account_id as "accountId", t.key_id as "keyId", t.model,
  coalesce(t.model_name, t.model) as "modelName", t.family, t.created_via as "createdVia", t.state,
  t.progress, t.video_order as "order", coalesce(nullif(t.enhanced_prompt, ''), t.video_order ->> 'prompt') as "enhancedPrompt", t.provider, t.wallet, t.prices,
  t.hold_micros as "holdMicros", t.created_at as "createdAt", t.status_updated_at as "statusUpdatedAt",
  t.media_id as "mediaId", t.error_code as "errorCode", t.error_message as "errorMessage",
  t.last_event as "lastEvent"`

export interface NewTask extends VideoTask {
  shard: number
  decision: Decision
  /** What it costs at its provider; undefined if unknown. */
  costMicros?: number | undefined
  deadlineMs: number
  /** The trace of the request; null if it is not traced. */
  traceContext: string | null
  webhook?: TaskWebhook | undefined
}

/**
 * Writes accepted tasks: the record, its first event, and the open row that the dispatcher reads. `createdAt` has full
 * precision, which lists sort by; the times of the tasks themselves are cut to milliseconds.
 */
export const insertTasks = async (
  database: Database,
  tasks: NewTask[],
  createdAt?: Instant,
): Promise<void> => {
  if (tasks.length === 0) return
  await database.query(
    `with given as (
       select * from jsonb_to_recordset($1::jsonb) as t
         (day date, id text, "accountId" uuid, "keyId" uuid, model text, "modelName" text, family text, "createdVia" text, state text,
          "order" jsonb, "enhancedPrompt" text, provider text, wallet text, prices jsonb, "holdMicros" bigint,
          "createdAt" timestamptz, shard smallint, decision jsonb, "costMicros" bigint, "deadlineMs" double precision,
          "traceContext" text, webhook jsonb)
     ), recorded as (
       insert into video_tasks (day, id, account_id, key_id, model, model_name, family, created_via, state, video_order, enhanced_prompt,
                                provider, wallet, prices, hold_micros, created_at, status_updated_at, last_event, webhook)
       select day, id, "accountId", "keyId", model, nullif("modelName", model), family, "createdVia", state, "order",
              case when "enhancedPrompt" = "order" ->> 'prompt' then '' else "enhancedPrompt" end,
              provider, wallet, prices, "holdMicros", coalesce($2::timestamptz, "createdAt"), coalesce($2::timestamptz, "createdAt"), 1, webhook from given
     ), event as (
       insert into task_events (day, task_id, id, kind, account_id) select day, id, 1, 'accepted', "accountId" from given
     )
     insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, shard, model, source_task_id, decision,
                             cost_micros, accepted_at, not_before, deadline_at, trace_context)
     select id, day, "accountId", "keyId", ("order" ->> 'seconds')::integer, provider, shard, model,
            "order" -> 'remixOf' ->> 'taskId', decision, "costMicros", clock_timestamp(), now(),
            now() + make_interval(secs => "deadlineMs" / 1000.0), "traceContext" from given`,
    [JSON.stringify(tasks), createdAt ?? null],
  )
}

export interface TaskKey {
  id: string
  day: string
  accountId: string
}

// A row is hidden once its account's retention is over, or the default retention if the account has none of its own. It is
// deleted within a day.
const isRetained = (accountId: string, taskDays: string) =>
  `t.created_at > (select now() - make_interval(days => coalesce(a.task_retention_days, ${taskDays}::integer))
                     from accounts a where a.id = ${accountId})`

/**
 * Reads tasks of the given accounts. The result omits unknown ids, tasks of other accounts and tasks whose retention is
 * over.
 */
export const findTasks = async (
  database: Database,
  wanted: TaskKey[],
  taskDays: number,
): Promise<Map<string, VideoTask>> => {
  // To plan it takes longer than to execute it. With arrays, PostgreSQL would plan each execution; with JSON it keeps one plan
  // for all. The limit makes that plan find each task by its primary key, however small the tables were when it was made.
  const { rows } = await database.query<VideoTask & Record<string, unknown>>(
    `select ${taskColumns}, (select m.expires_at from media m where m.id = t.media_id) as "mediaExpiresAt",
            (select o.deadline_at from open_tasks o
              where o.task_id = t.id and o.upstream is null and o.outcome is null and o.outcome_unknown_since is not null
                and o.stage in ('waiting', 'accepted')) as "outcomeUnknownUntil"
       from jsonb_to_recordset($1::jsonb) as wanted (day date, id text, "accountId" uuid)
      cross join lateral (
        select * from video_tasks v where v.day = wanted.day and v.id = wanted.id limit 1
      ) t
      where t.account_id = wanted."accountId" and ${isRetained('t.account_id', '$2')}`,
    [JSON.stringify(wanted.map(({ day, id, accountId }) => ({ day, id, accountId }))), taskDays],
  )
  return new Map(rows.map((task) => [`${task.accountId}/${task.id}`, task]))
}

/** Reads one task of any account, for the engine. */
export const findTask = async (
  database: Database,
  day: string,
  id: string,
): Promise<VideoTask | undefined> => {
  const { rows } = await database.query<VideoTask & Record<string, unknown>>(
    `select ${taskColumns}, null::timestamptz as "mediaExpiresAt" from video_tasks t where t.day = $1 and t.id = $2`,
    [day, id],
  )
  return rows[0]
}

/** Stores the enhanced prompt. The first one wins. */
export const recordEnhanced = async (
  database: Database,
  day: string,
  id: string,
  enhancedPrompt: string,
): Promise<void> => {
  await database.query(
    `update video_tasks
        set enhanced_prompt = case when $3 = video_order ->> 'prompt' then '' else $3 end, video_order = video_order || '{"isEnhanced": true}'
      where day = $1 and id = $2 and state in ('pending', 'processing') and not video_order ? 'isEnhanced'`,
    [day, id, enhancedPrompt],
  )
}

/** The filters of a list; only the given ones apply. */
export interface VideoFilter {
  states?: VideoTask['state'][] | undefined
  /** The id of the model, or the name in the request. */
  model?: string | undefined
  createdAfter?: Date | undefined
  createdBefore?: Date | undefined
  keyId?: string | undefined
  /** A text in the prompt, in upper or lower case. */
  promptText?: string | undefined
  metadata?: readonly (readonly [key: string, value: string])[]
}

/** The conditions of the filters. Those that are not given are left out, so that each can use its index. */
const conditionsOf = (filter: VideoFilter, values: unknown[]): string[] => {
  const conditions: string[] = []
  const given = (value: unknown, condition: (place: string) => string) => {
    if (value !== undefined) conditions.push(condition(`$${values.push(value)}`))
  }
  // The day limits the scan to the matching partitions. It comes from the id, whose clock may differ from `created_at`.
  const dayOf = (time: string) => `(${time}::timestamptz at time zone 'utc')::date`
  given(filter.states, (states) => `t.state = any(${states}::text[])`)
  given(filter.model, (model) => `${model} in (t.model, t.model_name)`)
  given(filter.createdAfter, (time) => `t.day >= ${dayOf(time)} - 1 and t.created_at >= ${time}`)
  given(filter.createdBefore, (time) => `t.day <= ${dayOf(time)} + 1 and t.created_at < ${time}`)
  given(filter.keyId, (keyId) => `t.key_id = ${keyId}`)
  given(filter.promptText, (text) => `strpos(lower(t.video_order ->> 'prompt'), lower(${text}::text)) > 0`)
  return [...conditions, ...matchMetadata(`(t.video_order -> 'metadata')`, filter.metadata ?? [], values)]
}

/** A task in a list. */
export interface ListedTask extends VideoTask {
  capturedMicros: number | null
}

/** A page of an account's retained tasks, by creation time, after a position. */
export const listTasks = async (
  database: Database,
  accountId: string,
  taskDays: number,
  page: {
    order: 'asc' | 'desc'
    after: ListPosition | undefined
    limit: number
  } & VideoFilter,
): Promise<ListedTask[]> => {
  const { order, after, limit, ...filter } = page
  const values: unknown[] = [accountId, limit, taskDays, ...(after === undefined ? [] : [after.at, after.id])]
  // Two statements, because a plan for both cases could not begin at the position.
  const isAfter =
    after === undefined ? '' : `and (t.created_at, t.id) ${order === 'asc' ? '>' : '<'} ($4, $5)`
  const matches = conditionsOf(filter, values).map((each) => `and ${each}`)
  const { rows } = await database.query<ListedTask & Record<string, unknown>>(
    `select ${taskColumns}, t.captured_micros as "capturedMicros", m.expires_at as "mediaExpiresAt"
       from video_tasks t left join media m on m.id = t.media_id
      where t.account_id = $1 and ${isRetained('$1', '$3')} ${isAfter} ${matches.join(' ')}
      order by t.created_at ${order}, t.id ${order} limit $2`,
    values,
  )
  return rows
}

/** The tasks that are sources of a remix that has not ended, with one such remix. */
export const findOpenRemixes = async (
  database: Database,
  taskIds: string[],
): Promise<Map<string, string>> => {
  const { rows } = await database.query<{ source: string; id: string }>(
    `select source_task_id as source, task_id as id from open_tasks
      where source_task_id is not null and source_task_id = any($1::text[])`,
    [taskIds],
  )
  return new Map(rows.map(({ source, id }) => [source, id]))
}

export interface FinishedTask {
  accountId: string
  keyId: string
  wallet: VideoTask['wallet']
  holdMicros: number
  provider: string
  upstream: unknown
  /** The request to remove its job, if that is to be deleted at its provider. */
  jobRemovalId: number | null
  /** Whether it has reference images. */
  hasReferences: boolean
  /** Whether characters were made for it alone. */
  hasCharacters: boolean
  model: string
  createdAt: Date
  finishedAt: Date
  /** How the work on it stood; null if it had no open row. */
  endState: WorkState | null
  traceContext: string | null
}

/** The provider of a task, and its reference of the job. */
export const findProviderJob = async (
  database: Database,
  day: string,
  id: string,
): Promise<{ provider: string; upstream: unknown } | undefined> => {
  const { rows } = await database.query<{ provider: string; upstream: unknown }>(
    `select provider, upstream from video_tasks where day = $1 and id = $2`,
    [day, id],
  )
  return rows[0]
}

/** What providers can do with the jobs of ended tasks, by their names. */
export interface JobKeeping {
  /** They can delete jobs. */
  deleting: string[]
  /** They need completed jobs for remixes. */
  retaining: string[]
}

/** How a task ends. */
export interface TaskEnding {
  day: string
  id: string
  ending: Ending
}

/**
 * Ends tasks: sets their status by compare-and-set, adds the events and deletes the open rows. Returns the tasks that this
 * call ended. A task whose provider has completed the video can no longer be cancelled; the statement checks this under the
 * lock of the open row. A task cannot be completed with a file that is not in the record: the database may have been restored
 * from a backup after the run stored it, and then a new run stores it again. The open rows are locked in a fixed order, so
 * that concurrent calls do not deadlock. No task may be given twice.
 *
 * The removal of a job that its provider can delete is requested in the same statement, so that no crash leaves it there. A
 * remix of family B may need a completed job. Without `keeping`, nothing is requested.
 */
export const finishTasks = async (
  database: Database,
  tasks: TaskEnding[],
  keeping: JobKeeping = { deleting: [], retaining: [] },
): Promise<Map<string, FinishedTask>> => {
  const { rows } = await database.query<FinishedTask & { id: string } & Record<string, unknown>>(
    `with given as materialized (
       select g.*, g.code is not distinct from 'task_cancelled' as is_cancel
         from jsonb_to_recordset($1::jsonb) as g (day date, id text, kind text, "mediaId" uuid, code text, message text)
         left join media m on m.id = g."mediaId"
        where g."mediaId" is null or m.id is not null
     ), locked as materialized (
       select task_id from open_tasks where task_id = any($2::text[]) order by task_id for update
     ), closed as (
       delete from open_tasks o using given g
        where o.task_id = g.id and o.task_id in (select task_id from locked)
          and not (g.is_cancel and coalesce(o.outcome ->> 'kind' = 'done', false))
       returning o.task_id, o.upstream, o.cost_micros, ${workState("g.kind = 'failed'")} as end_state, o.trace_context
     ), moved as (
       update video_tasks t
          set state = g.kind, status_updated_at = now(), finished_at = now(),
              progress = case when g.kind = 'completed' then 100 else t.progress end,
              captured_micros = case when g.kind = 'completed' then t.hold_micros else 0 end,
              media_id = g."mediaId", error_code = g.code, error_message = g.message, last_event = t.last_event + 1,
              upstream = c.upstream, end_state = c.end_state, cost_micros = case when g.kind = 'completed' then c.cost_micros end
         from given g left join closed c on c.task_id = g.id
        where t.day = g.day and t.id = g.id and t.state in ('pending', 'processing')
          and (not g.is_cancel or c.task_id is not null)
        returning t.day, t.id, t.account_id, t.key_id, t.wallet, t.hold_micros, t.family, t.provider, t.upstream, t.progress,
                  t.last_event, t.model, t.created_at, t.finished_at, t.end_state, t.webhook, g.kind, g."mediaId", g.code, g.message,
                  c.trace_context
     ), event as (
       insert into task_events (day, task_id, id, kind, account_id, webhook, data)
       select day, id, last_event, kind, account_id, webhook, jsonb_strip_nulls(jsonb_build_object('progress', progress, 'mediaId', "mediaId",
                                                                              'code', code, 'message', message))
         from moved
     ), requested as (
       insert into job_removals (provider, upstream, task_id, account_id)
       select provider, upstream, id, account_id from moved
        where upstream is not null and provider = any($3::text[])
          and not (kind = 'completed' and family = 'B' and provider = any($4::text[]))
       returning id, task_id
     )
     select id, account_id as "accountId", key_id as "keyId", wallet, hold_micros as "holdMicros", provider, upstream,
            model, created_at as "createdAt", coalesce(finished_at, now()) as "finishedAt", end_state as "endState",
            (select r.id from requested r where r.task_id = moved.id) as "jobRemovalId",
            (select count(*) from media where task_id = moved.id and kind = 'reference') > 0 as "hasReferences",
            (select count(*) from characters where task_id = moved.id) > 0 as "hasCharacters",
            trace_context as "traceContext"
       from moved`,
    [
      JSON.stringify(
        tasks.map(({ day, id, ending }) => ({
          ...{ day, id, kind: ending.kind },
          ...(ending.kind === 'completed'
            ? { mediaId: ending.mediaId }
            : { code: ending.code, message: ending.message }),
        })),
      ),
      tasks.map(({ id }) => id),
      keeping.deleting,
      keeping.retaining,
    ],
  )
  return new Map(rows.map(({ id, ...task }) => [id, task]))
}

/** What is under way: what the engine's loops and steps note down of it, and how what they lost is found. */
import type { Database } from '../platform/postgres.ts'
import type { Outcome } from './task.ts'

export interface Start {
  taskId: string
  run: number
}

// How long each stage may be silent before the engine is taken to have lost the task. A stage that calls
// out allows for its longest call; keeping a result says every few seconds that it is alive.
const silenceSeconds = { starting: 10, submitting: 90, waiting: 15, keeping: 30 }

/**
 * Hands tasks to the engine again that it seems to have lost: silent for too long, past their deadline, or
 * with an outcome nobody came for. They have their slot already, or need none to end. A raised run makes any older one end at
 * its next step; a start that was only not heard of yet is repeated as the same run, which costs nothing.
 */
export const retakeLost = async (database: Database, provider: string, atMost: number): Promise<Start[]> => {
  const { rows } = await database.query<{ taskId: string; run: number }>(
    `update open_tasks o
        set run = case when stage = 'starting' and deadline_at > now() then run else run + 1 end,
            touched_at = now(), stage = case when stage = 'accepted' then 'starting' else stage end
      where o.task_id in (
        (select task_id from open_tasks
          where provider = $1 and stage <> 'accepted' and (
            touched_at = 'epoch'
            or (stage = 'starting' and touched_at < now() - make_interval(secs => $3))
            or (stage = 'submitting' and touched_at < now() - make_interval(secs => $4))
            or (stage = 'waiting' and outcome is not null and touched_at < now() - make_interval(secs => $5))
            or (stage = 'keeping' and touched_at < now() - make_interval(secs => $6))
            or (deadline_at < now() - make_interval(secs => $5) and touched_at < now() - make_interval(secs => $5))))
        union all
        (select task_id from open_tasks
          where provider = $1 and stage = 'accepted' and deadline_at < now() - make_interval(secs => $5)
          order by deadline_at limit $2)
        limit $2)
     returning o.task_id as "taskId", o.run`,
    [
      provider,
      atMost,
      silenceSeconds.starting,
      silenceSeconds.submitting,
      silenceSeconds.waiting,
      silenceSeconds.keeping,
    ],
  )
  return rows
}

/**
 * Makes every task the engine was carrying count as lost, for an engine that starts empty. Also those that
 * wait at a provider: nobody is left to hear their news.
 */
export const markAllLost = async (database: Database): Promise<number> => {
  const { rowCount } = await database.query(
    `update open_tasks set touched_at = 'epoch' where stage <> 'accepted'`,
  )
  return rowCount ?? 0
}

export interface OpenTask {
  taskId: string
  day: string
  accountId: string
  provider: string
  stage: 'accepted' | 'starting' | 'submitting' | 'waiting' | 'keeping'
  run: number
  submits: number
  refusals: number
  upstream: unknown
  submittedAt: Date | null
  outcome: Outcome | null
  deadlineAt: Date
  isOverdue: boolean
}

const openColumns = `task_id as "taskId", day, account_id as "accountId", provider, stage, run, submits, refusals, upstream,
  submitted_at as "submittedAt", outcome, deadline_at as "deadlineAt", deadline_at <= now() as "isOverdue"`

/**
 * Begins a step of a run: notes the awakeable and that the task is alive. Answers nothing when the task
 * has ended or this run was overtaken by a newer one; the step then has nothing to do.
 */
export const touchRun = async (
  database: Database,
  taskId: string,
  run: number,
  note: { awakeable?: string; stage?: 'keeping' } = {},
): Promise<OpenTask | undefined> => {
  const { rows } = await database.query<OpenTask & Record<string, unknown>>(
    `update open_tasks
        set touched_at = now(), awakeable = coalesce($3, awakeable), stage = coalesce($4, stage)
      where task_id = $1 and run = $2 returning ${openColumns}`,
    [taskId, run, note.awakeable ?? null, note.stage ?? null],
  )
  return rows[0]
}

/** Records the intent to submit, before the provider hears of it. */
export const beginSubmit = async (database: Database, taskId: string, run: number): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks set stage = 'submitting', submits = submits + 1, touched_at = now()
      where task_id = $1 and run = $2 and stage in ('starting', 'submitting')`,
    [taskId, run],
  )
  return rowCount === 1
}

/**
 * Records what a provider answered to a submit. The first answer stands whichever run brings it: a job
 * that a provider has taken must never be forgotten. False when there was one already, or nobody waits any more.
 */
export const recordSubmitted = async (
  database: Database,
  taskId: string,
  upstream: unknown,
  firstCheckMs: number,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks
        set stage = 'waiting', upstream = $2, submitted_at = now(), touched_at = now(),
            next_check_at = now() + make_interval(secs => $3 / 1000.0)
      where task_id = $1 and upstream is null`,
    [taskId, JSON.stringify(upstream), firstCheckMs],
  )
  return rowCount === 1
}

/** Puts a task back in line after a provider was busy or out of reach; its slot is free again. */
export const returnToLine = async (
  database: Database,
  taskId: string,
  run: number,
  waitMs: number,
): Promise<void> => {
  await database.query(
    `update open_tasks
        set stage = 'accepted', submits = submits - 1, refusals = refusals + 1, touched_at = now(),
            not_before = least(deadline_at, now() + make_interval(secs => $3 / 1000.0))
      where task_id = $1 and run = $2 and upstream is null`,
    [taskId, run, waitMs],
  )
}

/** Keeps a provider's final word; the first one stands. */
export const recordOutcome = async (database: Database, taskId: string, outcome: Outcome): Promise<void> => {
  await database.query(
    `update open_tasks set outcome = coalesce(outcome, $2), touched_at = now() where task_id = $1`,
    [taskId, JSON.stringify(outcome)],
  )
}

/** Leaves a job whose submit may or may not have arrived to its deadline: never repeated, never forgotten. */
export const waitOut = async (database: Database, taskId: string, run: number): Promise<void> => {
  await database.query(
    `update open_tasks set stage = 'waiting', next_check_at = null, touched_at = now() where task_id = $1 and run = $2`,
    [taskId, run],
  )
}

export interface DueCheck {
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
}

export const findDueChecks = async (
  database: Database,
  provider: string,
  shard: number,
  atMost: number,
): Promise<DueCheck[]> => {
  const { rows } = await database.query<DueCheck & Record<string, unknown>>(
    `select o.task_id as "taskId", o.day, o.run, o.awakeable, o.upstream, o.outcome, t.model,
            extract(epoch from now() - o.submitted_at) * 1000 as "elapsedMs"
       from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
      where o.provider = $1 and o.shard = $2 and o.stage = 'waiting' and o.next_check_at <= now()
      order by o.next_check_at limit $3`,
    [provider, shard, atMost],
  )
  return rows
}

export interface CheckNote {
  taskId: string
  day: string
  nextCheckMs: number
  progress: number | null
  outcome: Outcome | null
}

/** Writes what a turn of checks found. Progress only grows and stays below 100 until the video is ours. */
export const recordChecks = async (database: Database, notes: CheckNote[]): Promise<void> => {
  if (notes.length === 0) return
  await database.query(
    `with given as (
       select * from jsonb_to_recordset($1::jsonb) as n
         ("taskId" text, day date, "nextCheckMs" double precision, progress smallint, outcome jsonb)
     ), shown as (
       update video_tasks t set progress = greatest(t.progress, least(99, n.progress))
         from given n where t.day = n.day and t.id = n."taskId" and n.progress > t.progress
          and t.state in ('pending', 'processing')
       returning t.day, t.id, t.progress
     ), told as (
       insert into task_events (day, task_id, kind, data)
       select day, id, 'progress', jsonb_build_object('progress', progress) from shown
     )
     update open_tasks o
        set next_check_at = now() + make_interval(secs => n."nextCheckMs" / 1000.0),
            outcome = coalesce(o.outcome, n.outcome),
            touched_at = case when n.outcome is null then o.touched_at else now() end
       from given n where o.task_id = n."taskId" and o.stage = 'waiting'`,
    [JSON.stringify(notes)],
  )
}

/** When the next check of this shard is due, in milliseconds from now; undefined when nothing waits. */
export const nextCheckInMs = async (
  database: Database,
  provider: string,
  shard: number,
): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number | null }>(
    `select extract(epoch from min(next_check_at) - now()) * 1000 as ms from open_tasks
      where provider = $1 and shard = $2 and stage = 'waiting'`,
    [provider, shard],
  )
  return rows[0]?.ms ?? undefined
}

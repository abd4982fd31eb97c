/** What is under way: the outbox the dispatcher takes from, and what the steps of a run note down. */
import type { Database } from '../platform/postgres.ts'

export interface Start {
  taskId: string
  run: number
}

// How long a stage may be silent before the engine is taken to have lost the task. A start is one call; a worker
// that is at a task says so every few seconds.
const silenceSeconds = { starting: 10, working: 60 }

/**
 * Hands waiting tasks to the engine, as many as may be under way at once. The order is fair: an account's turn comes
 * by how much it already has under way plus its place in its own line. The dispatcher is the only one that does this,
 * so nothing needs to be locked.
 */
export const claimAccepted = async (database: Database, atOnce: number): Promise<Start[]> => {
  const { rows } = await database.query<{ taskId: string; run: number }>(
    `with busy as (
       select account_id, count(*) as under_way from open_transcriptions where stage <> 'accepted' group by account_id
     ), chosen as (
       select queue.task_id
         from (select task_id, account_id, accepted_at,
                      row_number() over (partition by account_id order by accepted_at, task_id) as place
                 from open_transcriptions where stage = 'accepted' and not_before <= now()) queue
         left join busy on busy.account_id = queue.account_id
        order by queue.place + coalesce(busy.under_way, 0), queue.accepted_at
        limit greatest(0, $1 - coalesce((select sum(under_way) from busy), 0))
     )
     update open_transcriptions o set stage = 'starting', run = run + 1, last_activity_at = now()
       from chosen where o.task_id = chosen.task_id and o.stage = 'accepted'
     returning o.task_id as "taskId", o.run`,
    [atOnce],
  )
  return rows
}

/**
 * Hands tasks to the engine again that it seems to have lost, or whose deadline has passed while they waited in line.
 * A raised run makes any older one end at its next step; a start that was only not heard of yet is repeated as the same
 * run, which costs nothing.
 */
export const requeueStalled = async (database: Database, limit: number): Promise<Start[]> => {
  const { rows } = await database.query<{ taskId: string; run: number }>(
    `update open_transcriptions o
        set run = case when stage = 'starting' and last_activity_at <> 'epoch' then run else run + 1 end,
            stage = 'starting', last_activity_at = now()
      where o.task_id in (
        select task_id from open_transcriptions
         where last_activity_at = 'epoch'
            or (stage = 'starting' and last_activity_at < now() - make_interval(secs => $2))
            or (stage = 'working' and last_activity_at < now() - make_interval(secs => $3))
            or (stage = 'accepted' and deadline_at < now())
         limit $1)
     returning o.task_id as "taskId", o.run`,
    [limit, silenceSeconds.starting, silenceSeconds.working],
  )
  return rows
}

/** Makes every task the engine was carrying count as lost, for an engine that starts empty. */
export const markAllStalled = async (database: Database): Promise<number> => {
  const { rowCount } = await database.query(
    `update open_transcriptions set last_activity_at = 'epoch' where stage <> 'accepted'`,
  )
  return rowCount ?? 0
}

/** When the next task that waits may start, in milliseconds from now; undefined when none waits. */
export const nextStartInMs = async (database: Database): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number | null }>(
    `select extract(epoch from min(least(not_before, deadline_at)) - now()) * 1000 as ms from open_transcriptions
      where stage = 'accepted' and not_before > now()`,
  )
  return rows[0]?.ms ?? undefined
}

export interface OpenTranscription {
  day: string
  isOverdue: boolean
}

/**
 * Notes that a run is alive. Answers nothing when the task has ended or the run was overtaken by a newer one; whoever
 * asks then has nothing more to do.
 */
export const touchRun = async (
  database: Database,
  taskId: string,
  run: number,
): Promise<OpenTranscription | undefined> => {
  const { rows } = await database.query<OpenTranscription & Record<string, unknown>>(
    `update open_transcriptions set last_activity_at = now(), stage = 'working'
      where task_id = $1 and run = $2 and stage <> 'accepted'
      returning day, deadline_at <= now() as "isOverdue"`,
    [taskId, run],
  )
  return rows[0]
}

/** Puts a task back in line, to go on after a pause; somebody else may have its place meanwhile. */
export const returnToQueue = async (
  database: Database,
  taskId: string,
  run: number,
  waitMs: number,
): Promise<void> => {
  await database.query(
    `update open_transcriptions
        set stage = 'accepted', last_activity_at = now(),
            not_before = least(deadline_at, now() + make_interval(secs => $3 / 1000.0))
      where task_id = $1 and run = $2`,
    [taskId, run, waitMs],
  )
}

/** Open transcription tasks: the outbox from which the dispatcher claims tasks, and the heartbeats of their runs. */
import type { Database } from '../platform/postgres.ts'
import type { QueueState } from '../routing/queue-wait.ts'

export interface Start {
  taskId: string
  run: number
}

// How long a stage may be without a heartbeat before the task counts as stalled. A start is a single call; a working
// run sends a heartbeat every few seconds.
const silenceSeconds = { starting: 10, working: 60 }

/**
 * Claims accepted tasks, up to `concurrency` open runs in total. The order is fair between accounts: tasks are sorted by
 * the account's running tasks plus the task's position in the account's own queue. Only the dispatcher calls this, so no
 * lock is needed.
 */
export const claimAccepted = async (database: Database, concurrency: number): Promise<Start[]> => {
  const { rows } = await database.query<{ taskId: string; run: number }>(
    `with busy as (
       select account_id, count(*) as running from open_transcriptions where stage <> 'accepted' group by account_id
     ), chosen as (
       select queue.task_id
         from (select task_id, account_id, accepted_at,
                      row_number() over (partition by account_id order by accepted_at, task_id) as place
                 from open_transcriptions where stage = 'accepted' and not_before <= now()) queue
         left join busy on busy.account_id = queue.account_id
        order by queue.place + coalesce(busy.running, 0), queue.accepted_at
        limit greatest(0, $1 - coalesce((select sum(running) from busy), 0))
     ), started as (
       update open_transcriptions o set stage = 'starting', run = run + 1, last_activity_at = now()
         from chosen where o.task_id = chosen.task_id and o.stage = 'accepted'
       returning o.task_id, o.run
     ), counted as (
       -- A task that was returned to the queue was counted before.
       insert into queue_starts (queue, model, starts)
       select $2, $3, count(*) from started where run = 1 having count(*) > 0
       on conflict (queue, model) do update set starts = queue_starts.starts + excluded.starts
     )
     select task_id as "taskId", run from started`,
    [concurrency, recordingQueue.queue, recordingQueue.model],
  )
  return rows
}

/** The one queue of all transcription tasks; no provider can have this name. */
export const recordingQueue = { queue: '/transcriptions', model: 'all' }

/** The state of the queue. Its dispatcher is this loop of the engine. */
export const readRecordingQueue = async (
  database: Database,
  dispatcher: { loop: string; key: string },
): Promise<QueueState> => {
  const { queue, model } = recordingQueue
  const waiting = await database.query<{ accountId: string; waiting: number }>(
    `select account_id as "accountId", count(*) as waiting
       from open_transcriptions where stage = 'accepted' group by account_id`,
  )
  const starts = await database.query<{ starts: number; tickedAtMs: number }>(
    `select starts, (extract(epoch from ticked_at) * 1000)::double precision as "tickedAtMs"
       from queue_starts, engine_ticks where queue = $1 and model = $2 and loop = $3 and key = $4`,
    [queue, model, dispatcher.loop, dispatcher.key],
  )
  return {
    waiting: waiting.rows.map((row) => ({ ...row, queue, model })),
    starts: starts.rows.map((row) => ({ ...row, queue, model })),
  }
}

/**
 * Claims stalled tasks again, and queued tasks whose deadline has passed. A higher run number makes the previous run
 * stop at its next step. A start that may only be delayed is repeated with the same run number, which the engine
 * ignores if it has started the run.
 */
export const restartStalled = async (database: Database, limit: number): Promise<Start[]> => {
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

/** Marks all started tasks as stalled, for an engine that was emptied. */
export const markAllStalled = async (database: Database): Promise<number> => {
  const { rowCount } = await database.query(
    `update open_transcriptions set last_activity_at = 'epoch' where stage <> 'accepted'`,
  )
  return rowCount ?? 0
}

/** The time in milliseconds until the next postponed task may start; undefined if there is none. */
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

/** Records a heartbeat. Undefined if the task has ended or has a newer run; then this run must stop. */
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

/** Puts a task back into the queue for `waitMs`, so that other tasks can run in the meantime. */
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

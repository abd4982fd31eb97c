/** Open transcription tasks: the outbox from which the dispatcher claims tasks, and their current runs. */
import { nextRunAfter, type Run } from '../platform/engine/run-key.ts'
import type { Database } from '../platform/postgres.ts'
import type { QueueState } from '../routing/queue-wait.ts'

/**
 * Claims accepted tasks, up to `concurrency` open runs in total. The order is fair between accounts: tasks are sorted by
 * the account's running tasks plus the task's position in the account's own queue. Only the dispatcher calls this, so no
 * lock is needed.
 */
export const claimAccepted = async (
  database: Database,
  concurrency: number,
  tickId: string,
): Promise<Run[]> => {
  const { rows } = await database.query<Run & Record<string, unknown>>(
    `with busy as (
       select account_id, count(*) as running from open_transcriptions where stage <> 'accepted' group by account_id
     ), chosen as (
       select queue.task_id, queue.run = 0 as is_first
         from (select task_id, account_id, accepted_at, run,
                      row_number() over (partition by account_id order by accepted_at, task_id) as place
                 from open_transcriptions where stage = 'accepted' and not_before <= now()) queue
         left join busy on busy.account_id = queue.account_id
        order by queue.place + coalesce(busy.running, 0), queue.accepted_at
        limit greatest(0, $1 - coalesce((select sum(running) from busy), 0))
     ), started as (
       update open_transcriptions o set stage = 'starting', run = ${nextRunAfter('run')}, claimed_by = $4
         from chosen where o.task_id = chosen.task_id and o.stage = 'accepted'
       returning o.task_id, o.run, chosen.is_first
     ), counted as (
       -- A task that was returned to the queue was counted before.
       insert into queue_starts (queue, model, starts)
       select $2, $3, count(*) from started where is_first having count(*) > 0
       on conflict (queue, model) do update set starts = queue_starts.starts + excluded.starts
     )
     select task_id as "taskId", run from started`,
    [concurrency, recordingQueue.queue, recordingQueue.model, tickId],
  )
  return rows
}

/** The runs that a tick has claimed before. */
export const findClaimed = async (database: Database, tickId: string): Promise<Run[]> => {
  const { rows } = await database.query<Run & Record<string, unknown>>(
    `select task_id as "taskId", run from open_transcriptions where stage <> 'accepted' and claimed_by = $1`,
    [tickId],
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
       from queue_starts
       cross join lateral (
         select ticked_at from ticks where loop = $3 and key = $4 order by ticked_at desc limit 1
       ) last
      where queue = $1 and model = $2`,
    [queue, model, dispatcher.loop, dispatcher.key],
  )
  return {
    waiting: waiting.rows.map((row) => ({ ...row, queue, model })),
    starts: starts.rows.map((row) => ({ ...row, queue, model })),
  }
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

/** Begins a step. Undefined if the task has ended or has a newer run; then this run must stop. */
export const beginStep = async (
  database: Database,
  { taskId, run }: Run,
): Promise<OpenTranscription | undefined> => {
  const { rows } = await database.query<OpenTranscription & Record<string, unknown>>(
    `update open_transcriptions set stage = 'working'
      where task_id = $1 and run = $2 and stage <> 'accepted'
      returning day, deadline_at <= now() as "isOverdue"`,
    [taskId, run],
  )
  return rows[0]
}

/** Whether the task is open and no newer run has replaced this one. */
export const isCurrentRun = async (database: Database, { taskId, run }: Run): Promise<boolean> => {
  const { rowCount } = await database.query(
    `select from open_transcriptions where task_id = $1 and run = $2 and stage <> 'accepted'`,
    [taskId, run],
  )
  return rowCount === 1
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
        set stage = 'accepted',
            not_before = least(deadline_at, now() + make_interval(secs => $3 / 1000.0))
      where task_id = $1 and run = $2`,
    [taskId, run, waitMs],
  )
}

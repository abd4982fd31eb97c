/** The queues of open tasks. A task waits in its queue in the stage `accepted`, and a dispatcher claims it. */
import { nextRunAfter, type Run } from '../platform/engine/run-key.ts'
import type { Database } from '../platform/postgres.ts'
import type { TaskTables } from './task.ts'

/** Restricts a statement to the queue with the key `$1`. */
const isOfQueue = ({ queue }: TaskTables) => (queue === undefined ? '$1::text is not null' : `${queue} = $1`)

/** What a tick changes in a row `o` that it claims, as SQL. */
export const claimChanges = (tickId: string): string =>
  `stage = 'starting', run = ${nextRunAfter('o.run')}, claimed_by = ${tickId}`

/** What changes in a row that returns to the queue for this time, as SQL. A task waits until its deadline at the latest. */
export const returnChanges = (waitMs: string): string =>
  `stage = 'accepted', not_before = least(deadline_at, now() + make_interval(secs => ${waitMs} / 1000.0))`

/** The runs that a tick has claimed before. */
export const findClaimed = async (
  database: Database,
  tables: TaskTables,
  key: string,
  tickId: string,
): Promise<Run[]> => {
  const { rows } = await database.query<Run & Record<string, unknown>>(
    `select task_id as "taskId", run from ${tables.open}
      where ${isOfQueue(tables)} and stage <> 'accepted' and claimed_by = $2`,
    [key, tickId],
  )
  return rows
}

/** When the next task that was returned to the queue may start, in milliseconds from now; undefined if there is none. */
export const nextStartInMs = async (
  database: Database,
  tables: TaskTables,
  key: string,
): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number }>(
    `select extract(epoch from not_before - now()) * 1000 as ms from ${tables.open}
      where ${isOfQueue(tables)} and stage = 'accepted' and run > 0 and not_before > now()
      order by not_before limit 1`,
    [key],
  )
  return rows[0]?.ms
}

export interface SharedQueue {
  /** How `queue_starts` counts its starts, from which the wait of a new task is estimated. */
  queue: string
  model: string
  /** How many of its tasks may run at once. */
  concurrency: number
}

/**
 * Claims tasks of a kind with one queue, up to `concurrency` open runs in total. The order is fair between accounts: tasks
 * are sorted by the account's running tasks plus the task's position in the account's own queue. Only the dispatcher calls
 * this, so no lock is needed.
 */
export const claimInTurn = async (
  database: Database,
  { open }: TaskTables,
  { queue, model, concurrency }: SharedQueue,
  tickId: string,
): Promise<Run[]> => {
  const { rows } = await database.query<Run & Record<string, unknown>>(
    `with busy as (
       select account_id, count(*) as running from ${open} where stage <> 'accepted' group by account_id
     ), chosen as (
       select queue.task_id, queue.run = 0 as is_first
         from (select task_id, account_id, accepted_at, run,
                      row_number() over (partition by account_id order by accepted_at, task_id) as place
                 from ${open} where stage = 'accepted' and not_before <= now()) queue
         left join busy on busy.account_id = queue.account_id
        order by queue.place + coalesce(busy.running, 0), queue.accepted_at
        limit greatest(0, $1 - coalesce((select sum(running) from busy), 0))
     ), started as (
       update ${open} o set ${claimChanges('$4')}
         from chosen where o.task_id = chosen.task_id and o.stage = 'accepted'
       returning o.task_id, o.run, chosen.is_first
     ), counted as (
       -- A task that was returned to the queue was counted before.
       insert into queue_starts (queue, model, starts)
       select $2, $3, count(*) from started where is_first having count(*) > 0
       on conflict (queue, model) do update set starts = queue_starts.starts + excluded.starts
     )
     select task_id as "taskId", run from started`,
    [concurrency, queue, model, tickId],
  )
  return rows
}

/** Puts a task back into the queue for `waitMs`, so that other tasks can run in the meantime. */
export const returnToQueue = async (
  database: Database,
  { open }: TaskTables,
  { taskId, run }: Run,
  waitMs: number,
): Promise<void> => {
  await database.query(`update ${open} set ${returnChanges('$3')} where task_id = $1 and run = $2`, [
    taskId,
    run,
    waitMs,
  ])
}

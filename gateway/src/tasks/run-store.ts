/** The runs of open tasks. */
import type { CarriedTasks } from '../platform/engine/anti-entropy.ts'
import { nextRunAfter, type Run } from '../platform/engine/run-key.ts'
import type { Database } from '../platform/postgres.ts'
import type { TaskTables } from './task.ts'

/**
 * Begins a step of a run, for kinds whose open tasks have the stage `working`. Undefined if the task has ended or has a newer
 * run; then this run must stop.
 */
export const beginStep = async (
  database: Database,
  { open }: TaskTables,
  { taskId, run }: Run,
): Promise<{ day: string; isOverdue: boolean } | undefined> => {
  const { rows } = await database.query<{ day: string; isOverdue: boolean }>(
    `update ${open} set stage = 'working', started_at = coalesce(started_at, now())
      where task_id = $1 and run = $2 and stage <> 'accepted'
      returning day, deadline_at <= now() as "isOverdue"`,
    [taskId, run],
  )
  return rows[0]
}

/** Whether the task is open, has not returned to the queue, and no newer run has replaced this one. */
export const isCurrentRun = async (
  database: Database,
  { open }: TaskTables,
  { taskId, run }: Run,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `select from ${open} where task_id = $1 and run = $2 and stage <> 'accepted'`,
    [taskId, run],
  )
  return rowCount === 1
}

// The start of a run takes milliseconds; a busy engine may need seconds.
const newSeconds = 5
// A dispatcher starts a task at its deadline, if it has a free slot.
const overdueSeconds = 10
const overduePerCheck = 1_000

/** The runs of a kind of task, for the comparison with those that the engine carries. */
export const runsIn = (
  database: Database,
  { open }: TaskTables,
  /** The stages in which a task has a run. */
  stages: string[],
): Omit<CarriedTasks, 'service'> => ({
  readRuns: async (taskIds) => {
    const { rows } = await database.query<Run & { isNew: boolean }>(
      `select task_id as "taskId", run, run > (extract(epoch from now()) - $2) * 1000 as "isNew"
         from ${open} where stage = any ($3) and ($1::text[] is null or task_id = any ($1))`,
      [taskIds ?? null, newSeconds, stages],
    )
    return rows
  },
  findOverdue: async () => {
    const { rows } = await database.query<Run & Record<string, unknown>>(
      `select task_id as "taskId", run from ${open}
        where stage = 'accepted' and deadline_at < now() - make_interval(secs => $1) limit $2`,
      [overdueSeconds, overduePerCheck],
    )
    return rows
  },
  renew: async (runs) => {
    const { rows } = await database.query<Run & Record<string, unknown>>(
      `update ${open} o
          set run = ${nextRunAfter('o.run')},
              stage = case o.stage when 'accepted' then 'starting' when 'waiting' then 'storing' else o.stage end,
              lost_runs = o.lost_runs + case when o.stage in ('accepted', 'waiting') then 0 else 1 end
         from unnest($1::text[], $2::bigint[]) as outdated (task_id, run)
        where o.task_id = outdated.task_id and o.run = outdated.run
       returning o.task_id as "taskId", o.run`,
      [runs.map(({ taskId }) => taskId), runs.map(({ run }) => run)],
    )
    return rows
  },
})

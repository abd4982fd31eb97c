/** The runs in a table of open tasks, for the comparison with those that the engine carries. */
import type { Database } from '../postgres.ts'
import type { CarriedTasks } from './anti-entropy.ts'
import { nextRunAfter, type Run } from './run-key.ts'

// The start of a run takes milliseconds; a busy engine may need seconds.
const newSeconds = 5

/** Both tables have the same columns for this. */
export const runsIn = (
  database: Database,
  table: 'open_tasks' | 'open_transcriptions',
  /** The stages in which a task has a run. */
  stages: string[],
): Pick<CarriedTasks, 'readRuns' | 'renew'> => ({
  readRuns: async (taskIds) => {
    const { rows } = await database.query<Run & { isNew: boolean }>(
      `select task_id as "taskId", run, run > (extract(epoch from now()) - $2) * 1000 as "isNew"
         from ${table} where stage = any ($3) and ($1::text[] is null or task_id = any ($1))`,
      [taskIds ?? null, newSeconds, stages],
    )
    return rows
  },
  renew: async (runs) => {
    const { rows } = await database.query<Run & Record<string, unknown>>(
      `update ${table} o
          set run = ${nextRunAfter('o.run')},
              stage = case o.stage when 'accepted' then 'starting' when 'waiting' then 'storing' else o.stage end
         from unnest($1::text[], $2::bigint[]) as outdated (task_id, run)
        where o.task_id = outdated.task_id and o.run = outdated.run
       returning o.task_id as "taskId", o.run`,
      [runs.map(({ taskId }) => taskId), runs.map(({ run }) => run)],
    )
    return rows
  },
})

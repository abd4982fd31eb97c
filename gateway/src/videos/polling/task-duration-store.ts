import type { Database, Postgres } from '../../platform/postgres.ts'
import type { DurationBucket } from './duration-histogram.ts'

/** Tasks that take about the same time. */
export interface TaskKind {
  provider: string
  model: string
  seconds: number
  /** Width times height. */
  pixels: number
}

/** Small, because an error of all durations adds up over the tasks of a queue. */
export const taskDurationRatio = 1.06

export const readTaskDurations = async (database: Database): Promise<(TaskKind & DurationBucket)[]> => {
  const { rows } = await database.query<TaskKind & DurationBucket & Record<string, unknown>>(
    `select provider, model, seconds, pixels, bucket, weight from task_durations
      order by provider, model, seconds, pixels, bucket`,
  )
  return rows
}

/** Adds tasks of one kind, and multiplies the weight of older ones by `decay`. A lock serializes writers. */
export const addTaskDurations = async (
  postgres: Postgres,
  { provider, model, seconds, pixels }: TaskKind,
  durations: DurationBucket[],
  decay: number,
): Promise<void> => {
  const kind = [provider, model, seconds, pixels]
  await postgres.transaction(
    async (database) => {
      await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:task-durations', 0))`)
      await database.query(
        `update task_durations set weight = weight * $5
          where provider = $1 and model = $2 and seconds = $3 and pixels = $4`,
        [...kind, decay],
      )
      await database.query(
        `insert into task_durations (provider, model, seconds, pixels, bucket, weight)
         select $1, $2, $3, $4, bucket, weight
           from jsonb_to_recordset($5) as duration (bucket smallint, weight double precision)
             on conflict (provider, model, seconds, pixels, bucket)
             do update set weight = task_durations.weight + excluded.weight`,
        [...kind, JSON.stringify(durations)],
      )
      await database.query(
        `delete from task_durations
          where provider = $1 and model = $2 and seconds = $3 and pixels = $4 and weight < 0.001`,
        kind,
      )
    },
    // Observations lost in a crash of the database are replaced by later tasks.
    { isDurable: false },
  )
}

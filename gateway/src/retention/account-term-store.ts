import type { Database } from '../platform/postgres.ts'
import type { RetentionDays } from './retention-days.ts'

/** For how many days an account's results are kept: no longer than the tasks that lead to them. */
export const mediaDaysOf = async (
  database: Database,
  accountId: string,
  { media, task }: RetentionDays,
): Promise<number> => {
  const { rows } = await database.query<{ days: number }>(
    `select least(coalesce(media_retention_days, $2::integer), coalesce(task_retention_days, $3::integer)) as days
       from accounts where id = $1`,
    [accountId, media, task],
  )
  return rows[0]?.days ?? Math.min(media, task)
}

/** From when on an account's tasks can be read. */
export const tasksKeptSince = async (
  database: Database,
  accountId: string,
  { task }: RetentionDays,
): Promise<Date> => {
  const { rows } = await database.query<{ since: Date }>(
    `select now() - make_interval(days => coalesce(
       (select task_retention_days from accounts where id = $1), $2::integer)) as since`,
    [accountId, task],
  )
  const [row] = rows
  if (row === undefined) throw new Error('the term of an account was answered with no row')
  return row.since
}

/** The longest that any account's tasks are kept. What is shared by all of them must wait for that. */
export const longestTaskDays = async (database: Database, { task }: RetentionDays): Promise<number> => {
  const { rows } = await database.query<{ days: number }>(
    'select greatest($1::integer, max(task_retention_days)) as days from accounts',
    [task],
  )
  return rows[0]?.days ?? task
}

import type { Database } from '../platform/postgres.ts'
import type { RetentionDays } from './retention-days.ts'

/** The retention days of the results of each account, in order. Results never outlive their tasks. */
export const mediaDaysOf = async (
  database: Database,
  accountIds: string[],
  { media, task }: RetentionDays,
): Promise<number[]> => {
  const { rows } = await database.query<{ id: string; days: number }>(
    `select id, least(coalesce(media_retention_days, $2::integer), coalesce(task_retention_days, $3::integer)) as days
       from accounts where id = any($1::uuid[])`,
    [accountIds, media, task],
  )
  const days = new Map(rows.map((row) => [row.id, row.days]))
  return accountIds.map((id) => days.get(id) ?? Math.min(media, task))
}

/** Tasks of the account that were created before this time are expired. */
export const tasksRetainedSince = async (
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
  if (row === undefined) throw new Error('The retention query returned no row.')
  return row.since
}

/** The shortest and the longest task retention of any account. */
export const taskDaysRange = async (
  database: Database,
  { task }: RetentionDays,
): Promise<{ shortest: number; longest: number }> => {
  const { rows } = await database.query<{ shortest: number; longest: number }>(
    `select least($1::integer, min(task_retention_days)) as shortest,
            greatest($1::integer, max(task_retention_days)) as longest from accounts`,
    [task],
  )
  return rows[0] ?? { shortest: task, longest: task }
}

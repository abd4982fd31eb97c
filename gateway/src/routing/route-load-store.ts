import type { Database } from '../platform/postgres.ts'

/** Open tasks by provider and model, in flight and queued. */
export const countOpenTasks = async (
  database: Database,
): Promise<{ provider: string; model: string; tasks: number }[]> => {
  const { rows } = await database.query<{ provider: string; model: string; tasks: number }>(
    'select provider, model, count(*) as tasks from open_tasks group by provider, model',
  )
  return rows
}

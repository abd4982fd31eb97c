import type { Instant } from '../billing/ledger/ledger-store.ts'
import type { Database } from '../platform/postgres.ts'
import type { TaskTables } from './task.ts'

/** Moves pending tasks to processing. */
export const markProcessing = async (
  database: Database,
  { tasks: table, events }: Pick<TaskTables, 'tasks' | 'events'>,
  tasks: { day: string; id: string }[],
): Promise<void> => {
  if (tasks.length === 0) return
  const update = (more = '') =>
    `update ${table} t set state = 'processing'${more}
       from unnest($1::date[], $2::text[]) as given (day, id)
      where t.day = given.day and t.id = given.id and t.state = 'pending'`
  await database.query(
    events === undefined
      ? update()
      : `with moved as (
           ${update(', status_updated_at = now(), last_event = t.last_event + 1')} returning t.day, t.id, t.account_id, t.webhook, t.last_event
         )
         insert into task_events (day, task_id, id, kind, object, account_id, webhook)
         select day, id, last_event, 'processing', '${events}', account_id, webhook from moved`,
    [tasks.map(({ day }) => day), tasks.map(({ id }) => id)],
  )
}

/** When a task was created, in full precision; this is its position in a list. */
export const findCreationTime = async (
  database: Database,
  { tasks: table }: Pick<TaskTables, 'tasks'>,
  { day, id, accountId }: { day: string; id: string; accountId: string },
): Promise<Instant | undefined> => {
  const { rows } = await database.query<{ at: Instant }>(
    `select created_at::text as at from ${table} where day = $1 and id = $2 and account_id = $3`,
    [day, id, accountId],
  )
  return rows[0]?.at
}

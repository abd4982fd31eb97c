import type { Database } from '../../platform/postgres.ts'

/** Notes that a task's news were heard; false where they had been before. What goes astray keeps nothing from its own task. */
export const recordReceipt = async (
  database: Database,
  { provider, taskId, id }: { provider: string; taskId: string; id: string },
): Promise<boolean> => {
  const { rowCount } = await database.query(
    'insert into webhook_receipts (provider, id) values ($1, $2) on conflict do nothing',
    [provider, `${taskId} ${id}`],
  )
  return rowCount === 1
}

export interface Concerned {
  provider: string
  /** The job that is known of; null where none is. */
  upstream: unknown
}

/** The open task that news are about, kept from changing; undefined for one that has ended or never was. */
export const lockConcerned = async (database: Database, taskId: string): Promise<Concerned | undefined> => {
  const { rows } = await database.query<Concerned & Record<string, unknown>>(
    'select provider, upstream from open_tasks where task_id = $1 for update',
    [taskId],
  )
  return rows[0]
}

export const isJobOfAnother = async (
  database: Database,
  { provider, taskId, ref }: { provider: string; taskId: string; ref: unknown },
): Promise<boolean> => {
  const { rows } = await database.query<{ found: boolean }>(
    `select exists (select from claimed_jobs
                     where provider = $1 and job = md5($2::jsonb::text)::uuid and task_id <> $3) as found`,
    [provider, JSON.stringify(ref), taskId],
  )
  return rows[0]?.found === true
}

/** Makes a job due for a check at once; false where nothing is left to be learnt of it. */
export const checkNow = async (database: Database, taskId: string): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks set next_poll_at = now() where task_id = $1 and stage = 'waiting' and outcome is null`,
    [taskId],
  )
  return rowCount === 1
}

import type { Database } from '../../platform/postgres.ts'

/**
 * Records that an event was received; returns false if it was before. The key includes the task, so that an event sent to
 * the URL of another task does not suppress its own.
 */
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

export interface LockedTask {
  provider: string
  /** The recorded job; null if there is none. */
  upstream: unknown
}

/** Locks and returns an open task; undefined if it has ended or does not exist. */
export const lockOpenTask = async (database: Database, taskId: string): Promise<LockedTask | undefined> => {
  const { rows } = await database.query<LockedTask & Record<string, unknown>>(
    'select provider, upstream from open_tasks where task_id = $1 for update',
    [taskId],
  )
  return rows[0]
}

/** Whether the task failed, or was cancelled, before a job of it was known. */
export const hasFailedWithoutJob = async (
  database: Database,
  day: string,
  taskId: string,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `select from video_tasks where day = $1 and id = $2 and state = 'failed' and upstream is null`,
    [day, taskId],
  )
  return rowCount === 1
}

export const isJobOfOtherTask = async (
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

/** Makes a job due for a poll at once; returns false if its outcome is known already. */
export const pollNow = async (database: Database, taskId: string): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update open_tasks set next_poll_at = now() where task_id = $1 and stage = 'waiting' and outcome is null`,
    [taskId],
  )
  return rowCount === 1
}

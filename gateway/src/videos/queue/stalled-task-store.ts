/** Finds tasks that the engine no longer carries, and hands them over again. */
import type { Database } from '../../platform/postgres.ts'
import type { Start } from './queue-store.ts'

// After this much silence in a stage, the task counts as stalled. The longest call of the submit stage is added to its
// number. The storing stage sends a heartbeat every few seconds.
const silenceSeconds = { starting: 10, submitting: 30, waiting: 15, storing: 30 }

/**
 * Starts stalled tasks again: those silent for too long, past their deadline, or with an outcome that no run has
 * processed. They hold their slot already, or need none to end. The new run number makes an older run end at its next
 * step. A task that is still starting keeps its run number, because starting the same run twice has no effect.
 */
export const restartStalled = async (
  database: Database,
  provider: string,
  limit: number,
  submitMsMax: number,
): Promise<Start[]> => {
  const { rows } = await database.query<{ taskId: string; run: number }>(
    `update open_tasks o
        set run = case when stage = 'starting' and deadline_at > now() then run else run + 1 end,
            last_activity_at = now(), stage = case when stage = 'accepted' then 'starting' else stage end
      where o.task_id in (
        (select task_id from open_tasks
          where provider = $1 and stage <> 'accepted' and (
            last_activity_at = 'epoch'
            or (stage = 'starting' and last_activity_at < now() - make_interval(secs => $3))
            or (stage = 'submitting' and last_activity_at < now() - make_interval(secs => $4))
            or (stage = 'waiting' and outcome is not null and last_activity_at < now() - make_interval(secs => $5))
            or (stage = 'storing' and last_activity_at < now() - make_interval(secs => $6))
            or (deadline_at < now() - make_interval(secs => $5) and last_activity_at < now() - make_interval(secs => $5))))
        union all
        (select task_id from open_tasks
          where provider = $1 and stage = 'accepted' and deadline_at < now() - make_interval(secs => $5)
          order by deadline_at limit $2)
        limit $2)
     returning o.task_id as "taskId", o.run`,
    [
      provider,
      limit,
      silenceSeconds.starting,
      silenceSeconds.submitting + submitMsMax / 1000,
      silenceSeconds.waiting,
      silenceSeconds.storing,
    ],
  )
  return rows
}

/**
 * Marks every task that the engine carried as stalled, for an engine that starts empty. This includes tasks that wait
 * at a provider, because no run is left to receive their outcome.
 */
export const markAllStalled = async (database: Database): Promise<number> => {
  const { rowCount } = await database.query(
    `update open_tasks set last_activity_at = 'epoch' where stage <> 'accepted'`,
  )
  return rowCount ?? 0
}

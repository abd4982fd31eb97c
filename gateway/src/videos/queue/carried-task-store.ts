/** The tasks that the engine should carry, for the comparison with those that it does carry. */
import type { CarriedTasks } from '../../platform/engine/anti-entropy.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import { runsIn } from '../../platform/engine/run-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { generateVideoName } from '../lifecycle/generate-video.workflow.ts'
import { advanceVideoName } from '../video-run.ts'

// A poll loop starts a run within milliseconds; a busy one may need seconds.
const notPolledSeconds = 20
const overdueSeconds = 10
const overduePerCheck = 1_000

export const carriedVideos = (database: Database): CarriedTasks => ({
  ...runsIn(database, 'open_tasks', ['starting', 'submitting', 'storing']),
  workflow: advanceVideoName,
  earlierWorkflows: [generateVideoName],
  findOverdue: async () => {
    const { rows } = await database.query<Run & Record<string, unknown>>(
      `(select task_id as "taskId", run from open_tasks
         where stage = 'waiting'
           and (deadline_at < now() - make_interval(secs => $1)
                or (outcome is not null and next_poll_at < now() - make_interval(secs => $1))) limit $3)
       union all
       (select task_id, run from open_tasks
         where stage = 'accepted' and deadline_at < now() - make_interval(secs => $2) limit $3)`,
      [notPolledSeconds, overdueSeconds, overduePerCheck],
    )
    return rows
  },
})

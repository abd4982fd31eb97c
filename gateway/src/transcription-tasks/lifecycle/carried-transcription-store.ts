/** The tasks that the engine should carry, for the comparison with those that it does carry. */
import type { CarriedTasks } from '../../platform/engine/anti-entropy.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import { runsIn } from '../../platform/engine/run-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { transcribeRecordingName } from './transcribe-recording.workflow.ts'

export const carriedTranscriptions = (database: Database): CarriedTasks => ({
  ...runsIn(database, 'open_transcriptions', ['starting', 'working']),
  workflow: transcribeRecordingName,
  earlierWorkflows: [],
  findOverdue: async () => {
    const { rows } = await database.query<Run & Record<string, unknown>>(
      `select task_id as "taskId", run from open_transcriptions where stage = 'accepted' and deadline_at < now()`,
    )
    return rows
  },
})

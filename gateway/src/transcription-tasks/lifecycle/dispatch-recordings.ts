/** Starts accepted transcription tasks, and removes what ended ones left behind. */
import type { EngineLoop } from '../../platform/engine/anti-entropy.ts'
import { loop, type Ticked } from '../../platform/engine/loop.ts'
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { dispatchTasks } from '../../tasks/dispatch-tasks.ts'
import { claimInTurn } from '../../tasks/queue-store.ts'
import { recordingQueue } from '../recording-queue-store.ts'
import { transcriptionTables as tables } from '../transcription-task.ts'
import { removeExpired } from './remove-expired.ts'
import { transcribeRecordingName } from './transcribe-recording.ts'

/** One loop for all tasks. */
export const dispatchRecordings: EngineLoop = { loop: 'dispatchRecordings', key: 'all' }

export interface DispatchDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}

const queue = { ...recordingQueue, concurrency: 16 }

const dispatch = async (dependencies: DispatchDependencies, tickId: string): Promise<Ticked> => {
  const dispatcher = { ...dispatchRecordings, tables, service: transcribeRecordingName }
  const ticked = await dispatchTasks(dependencies.postgres, dispatcher, tickId, async (database) => ({
    runs: await claimInTurn(database, tables, queue, tickId),
  }))
  await removeExpired(dependencies)
  return ticked
}

export const dispatchRecordingsLoop = (dependencies: DispatchDependencies, steps: RunningSteps) =>
  loop(dispatchRecordings.loop, steps, (_key, tickId) => dispatch(dependencies, tickId))

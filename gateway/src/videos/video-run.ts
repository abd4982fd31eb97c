/** How a run of a video task is started. */
import type { Run } from '../platform/engine/run-key.ts'
import type { RunStart } from '../platform/engine/run-service.ts'

export const advanceVideoName = 'advanceVideo'

/**
 * So many runs of a tick are executed by one worker, so that they share statements however many workers there are. More would
 * be shared unevenly by the workers.
 */
export const runsPerCall = 8

export interface VideoRunInput {
  /** The job has an outcome, or the deadline is over, so the run begins with storing. A run without it finds out. */
  jobHasEnded?: boolean
}

export const startOf = (run: Run, input?: VideoRunInput): RunStart => ({
  service: advanceVideoName,
  // Without other properties of the object.
  run: { taskId: run.taskId, run: run.run },
  ...(input !== undefined && { input }),
})

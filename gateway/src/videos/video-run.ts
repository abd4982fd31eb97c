/** How a run of a video task is started. */
import type { RunStart } from '../platform/engine/restate.ts'
import { runKey, type Run } from '../platform/engine/run-key.ts'

export const advanceVideoName = 'advanceVideo'

export interface VideoRunInput {
  /** The job has an outcome, or the deadline is over, so the run begins with storing. A run without it finds out. */
  jobHasEnded?: boolean
}

export const startOf = (run: Run, input?: VideoRunInput): RunStart => ({
  ...{ workflow: advanceVideoName, key: runKey(run) },
  ...(input !== undefined && { input }),
})

/**
 * The runs of one transcription task after its admission. A run plans the segments of the recording, transcribes them and
 * settles.
 *
 * Each step reads from the database what was done before, so a run may be executed again, from its beginning: only the
 * segments in progress are transcribed again. A run that a newer one has replaced ends at its next step.
 * A long recording takes several runs: after some minutes a run returns its task to the queue, so that a recording of
 * 24 hours does not keep others waiting.
 * Deadline: that of the task. Each step checks it; then the task fails and its hold is released.
 * Failures: if a provider is overloaded, the task returns to the queue. A rejected segment fails the task. The engine repeats
 * a run that throws.
 */
import type { CarriedTasks } from '../../platform/engine/anti-entropy.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import { runService } from '../../platform/engine/run-service.ts'
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import type { Database } from '../../platform/postgres.ts'
import { returnToQueue } from '../../tasks/queue-store.ts'
import { runsIn } from '../../tasks/run-store.ts'
import { planSegments, type PlanDependencies, type StepResult } from '../segments/plan-segments.ts'
import { transcribeSegments, type TranscribeDependencies } from '../segments/transcribe-segments.ts'
import { transcriptionTables } from '../transcription-task.ts'
import { settleTranscription, type SettleDependencies } from './settle-transcription.ts'

export const transcribeRecordingName = 'transcribeRecording'

export type RecordingDependencies = PlanDependencies &
  TranscribeDependencies &
  SettleDependencies & {
    /** How long a run starts steps. */
    runMsMax?: number
  }

// With the longest step, this is below the time after which the engine gives a run to another worker.
const defaultRunMsMax = 300_000

/** Runs the steps until the task can be settled, or until this run has to end. */
const runSteps = async (dependencies: RecordingDependencies, run: Run): Promise<StepResult> => {
  const { postgres, wakeDispatcher, stopping, runMsMax = defaultRunMsMax } = dependencies
  const startedMs = performance.now()
  // 1. Plan the cuts, one hour of the recording at a time.
  let step: typeof planSegments | typeof transcribeSegments = planSegments
  let result = await step(dependencies, run)
  while (result.kind === 'done' || result.kind === 'repeat') {
    // The engine repeats the run on another worker.
    stopping.throwIfAborted()
    if (result.kind === 'repeat' && performance.now() - startedMs > runMsMax) {
      await returnToQueue(postgres, transcriptionTables, run, 0)
      wakeDispatcher()
      return { kind: 'stop' }
    }
    // 2. Transcribe the segments, a few minutes of work at a time.
    if (result.kind === 'done') step = transcribeSegments
    result = await step(dependencies, run)
  }
  return result
}

export const runTranscription = async (dependencies: RecordingDependencies, run: Run): Promise<void> => {
  const result = await runSteps(dependencies, run)
  // 3. Settle: state and hold change together, once.
  if (result.kind === 'completed' || result.kind === 'failed')
    await settleTranscription(dependencies, run.taskId, result)
}

export const transcribeRecording = (dependencies: RecordingDependencies, steps: RunningSteps) =>
  runService(transcribeRecordingName, steps, (run) => runTranscription(dependencies, run))

/** The tasks that the engine should carry, for the comparison with those that it does carry. */
export const carriedTranscriptions = (database: Database): CarriedTasks => ({
  ...runsIn(database, transcriptionTables, ['starting', 'working']),
  service: transcribeRecordingName,
})

/**
 * The runs of one video task after its admission. The first run submits the job, and the second stores the result and
 * settles. In between, the poll loop watches the job, and starts the second run at the outcome or at the deadline.
 *
 * Each step reads from the database what was done before, so a run may be executed again, from its beginning. A run that a
 * newer one has replaced ends at its next step, so an extra start is harmless.
 * Deadline: the task's own. The second run starts there at the latest, and the task fails with its hold released.
 * Failures: a busy provider puts the task back into the queue, a refused job fails the task, a download that fails is left
 * to a further run, which the poll loop starts after a pause, and the engine repeats a run that throws.
 */
import type { Run } from '../../platform/engine/run-key.ts'
import { runService, type StartAlone } from '../../platform/engine/run-service.ts'
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import { enhancePrompt, type EnhanceDependencies } from '../prompts/enhance-prompt.ts'
import { advanceVideoName, type VideoRunInput } from '../video-run.ts'
import { settleVideo, type SettleDependencies } from './settle-video.ts'
import { storeResult, type StoreDependencies } from './store-result.ts'
import { submitVideo, type Submitted, type SubmitDependencies } from './submit-video.ts'
import { traceStep } from './trace-video.ts'

export type AdvanceDependencies = EnhanceDependencies &
  SubmitDependencies &
  StoreDependencies &
  SettleDependencies

/** Enhances the prompt first if the task requests it and it has not been done. */
const submit = async (
  dependencies: AdvanceDependencies,
  { taskId, run }: Run,
  startedMs: number,
): Promise<Submitted> => {
  const submitted = await submitVideo(dependencies, taskId, run, startedMs)
  if (submitted.kind !== 'needs_enhancing') return submitted
  await traceStep('enhance', submitted.open, undefined, () => enhancePrompt(dependencies, taskId, run))
  return submitVideo(dependencies, taskId, run)
}

const advance = async (dependencies: AdvanceDependencies, run: Run, input: VideoRunInput): Promise<void> => {
  const startedMs = performance.now()
  // 1. Submit the job to its provider. The poll loop watches it from then on.
  if (input.jobHasEnded !== true) {
    const submitted = await submit(dependencies, run, startedMs)
    if (submitted.kind !== 'outcome_known') return
  }

  // 2. Store the result.
  const ending = await storeResult(
    dependencies,
    run.taskId,
    run.run,
    input.jobHasEnded === true ? startedMs : undefined,
  )
  if (ending.kind === 'stop') return

  // 3. Settle: status and money change together, once.
  await settleVideo(dependencies, run.taskId, ending)
}

export const advanceVideo = (
  dependencies: AdvanceDependencies,
  steps: RunningSteps,
  startAlone?: StartAlone,
) =>
  runService<VideoRunInput>(
    advanceVideoName,
    steps,
    (run, input) => advance(dependencies, run, input),
    startAlone,
  )

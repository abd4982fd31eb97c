/**
 * The lifecycle of one transcription task after its admission.
 *
 * Why durable: a recording may be 24 hours long, and its hold must be settled.
 * Key: `<task id>~<run>`. PostgreSQL holds the state of the task; the workflow only executes the steps. A run that is no
 * longer current stops at its next step, so an additional start is harmless.
 * Deadline: that of the task. Each step checks it; then the task fails and its hold is released.
 * Failures: if a provider is overloaded, the task returns to the queue and this run ends. A rejected segment fails the
 * task. The engine retries a step that throws until it succeeds or the deadline has passed.
 */
import * as restate from '@restatedev/restate-sdk'

import { durable, workflowRetention } from '../../platform/engine/restate.ts'
import { parseRunKey } from '../../platform/engine/run-key.ts'
import type { Execution } from '../../platform/engine/running-steps.ts'
import { planSegments, type PlanDependencies } from '../segments/plan-segments.ts'
import { transcribeSegments, type TranscribeDependencies } from '../segments/transcribe-segments.ts'
import { settleTranscription, type SettleDependencies } from './settle-transcription.ts'

export const transcribeRecordingName = 'transcribeRecording'

export type RecordingDependencies = PlanDependencies & TranscribeDependencies & SettleDependencies

export const transcribeRecording = (
  dependencies: RecordingDependencies,
  { steps, suspendAfterMs }: Execution,
) =>
  restate.workflow({
    name: transcribeRecordingName,
    options: { ...durable(suspendAfterMs), workflowRetention },
    handlers: {
      run: async (ctx: restate.WorkflowContext): Promise<void> => {
        const { taskId, run } = parseRunKey(ctx.key)
        const plan = () => steps.run(() => planSegments(dependencies, taskId, run))
        const transcribe = () => steps.run(() => transcribeSegments(dependencies, taskId, run))

        // 1. Plan the cuts, one hour of the recording at a time.
        let result = await ctx.run('plan', plan)
        while (result.kind === 'repeat') result = await ctx.run('plan', plan)

        // 2. Transcribe the segments, a few minutes of work at a time.
        while (result.kind === 'done' || result.kind === 'repeat')
          result = await ctx.run('transcribe', transcribe)

        // 3. Settle state and hold in one transaction.
        if (result.kind === 'stop') return
        const ending = result
        await ctx.run('settle', () => steps.run(() => settleTranscription(dependencies, taskId, ending)))
      },
    },
  })

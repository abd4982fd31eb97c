/**
 * The life of one transcription task after it was accepted.
 *
 * Why durable: a recording may play for a day, and money hangs on it.
 * Key: `<task id>~<run>`. The record in PostgreSQL decides everything; this only carries the work. A run
 * that the record has moved past ends at its next step, so starting one too many is harmless.
 * Deadline: the task's own; each step looks at it, and the task fails with its hold released.
 * Failures: a provider without time puts the task back in line, which ends this run; a refused piece fails the task;
 * a step that throws is tried again by the engine until it passes or the deadline has.
 */
import * as restate from '@restatedev/restate-sdk'

import { durable } from '../../platform/engine/restate.ts'
import { parseRunKey } from '../../platform/engine/run-key.ts'
import { planSegments, type PlanDependencies } from '../segments/plan-segments.ts'
import { transcribeSegments, type TranscribeDependencies } from '../segments/transcribe-segments.ts'
import { settleTranscription, type SettleDependencies } from './settle-transcription.ts'

export const transcribeRecordingName = 'transcribeRecording'

export type RecordingDependencies = PlanDependencies & TranscribeDependencies & SettleDependencies

export const transcribeRecording = (dependencies: RecordingDependencies, suspendAfterMs: number) =>
  restate.workflow({
    name: transcribeRecordingName,
    options: { ...durable(suspendAfterMs), workflowRetention: { days: 1 } },
    handlers: {
      run: async (ctx: restate.WorkflowContext): Promise<void> => {
        const { taskId, run } = parseRunKey(ctx.key)

        // 1. Find out where to cut, an hour of the recording at a time.
        let worked = await ctx.run('plan', () => planSegments(dependencies, taskId, run))
        while (worked.kind === 'more')
          worked = await ctx.run('plan', () => planSegments(dependencies, taskId, run))

        // 2. Have the pieces written down, a few minutes of that at a time.
        while (worked.kind === 'done' || worked.kind === 'more')
          worked = await ctx.run('transcribe', () => transcribeSegments(dependencies, taskId, run))

        // 3. Status and money, together and once.
        if (worked.kind === 'over') return
        const ending = worked
        await ctx.run('settle', () => settleTranscription(dependencies, taskId, ending))
      },
    },
  })

/**
 * Continues the runs that earlier versions began, whose journals have steps and a wait for the outcome. Workers of an earlier
 * version also start such runs during an upgrade. New runs are in `advance-video.workflow.ts`; this file can be removed
 * after the next release.
 */
import * as restate from '@restatedev/restate-sdk'

import { durable, workflowRetention } from '../../platform/engine/restate.ts'
import { parseRunKey } from '../../platform/engine/run-key.ts'
import type { Execution } from '../../platform/engine/running-steps.ts'
import { enhancePrompt } from '../prompts/enhance-prompt.ts'
import type { AdvanceDependencies } from './advance-video.workflow.ts'
import { settleVideo } from './settle-video.ts'
import { storeResult, type Stored } from './store-result.ts'
import { submitVideo, type Submitted } from './submit-video.ts'

export const generateVideoName = 'generateVideo'

/** Results of steps that only the journals of earlier versions have: the run itself waits for so long. */
type Submit = Submitted & { remainingMs?: number }
type Store = Stored | { kind: 'retry'; waitMs: number }

const submit = async (
  ctx: restate.WorkflowContext,
  dependencies: AdvanceDependencies,
  { steps }: Execution,
): Promise<Submit> => {
  const { taskId, run } = parseRunKey(ctx.key)
  const step = () => steps.run(() => submitVideo(dependencies, taskId, run))
  const submitted = await ctx.run<Submit>('submit', step)
  if (submitted.kind !== 'needs_enhancing') return submitted
  await ctx.run('enhance', () => steps.run(() => enhancePrompt(dependencies, taskId, run)))
  return ctx.run<Submit>('submit', step)
}

const store = async (
  ctx: restate.WorkflowContext,
  dependencies: AdvanceDependencies,
  { steps }: Execution,
): Promise<Stored> => {
  const { taskId, run } = parseRunKey(ctx.key)
  for (;;) {
    const stored = await ctx.run<Store>('store', () =>
      steps.run(() => storeResult(dependencies, taskId, run)),
    )
    if (stored.kind !== 'retry') return stored
    await ctx.sleep(stored.waitMs)
  }
}

// Workers of an earlier version wait in such runs, which must not occupy the slots of the engine meanwhile.
const suspendAfterMsMax = 200

export const generateVideo = (dependencies: AdvanceDependencies, execution: Execution) =>
  restate.workflow({
    name: generateVideoName,
    options: { ...durable(Math.min(execution.suspendAfterMs, suspendAfterMsMax)), workflowRetention },
    handlers: {
      run: async (ctx: restate.WorkflowContext): Promise<void> => {
        const { taskId } = parseRunKey(ctx.key)
        const outcome = ctx.awakeable<null>()
        const { kind, remainingMs } = await submit(ctx, dependencies, execution)
        if (remainingMs !== undefined) {
          try {
            await outcome.promise.orTimeout({ milliseconds: remainingMs })
          } catch (error) {
            if (!(error instanceof restate.TimeoutError)) throw error
          }
        } else if (kind !== 'outcome_known') return
        const ending = await store(ctx, dependencies, execution)
        if (ending.kind === 'stop') return
        await ctx.run('settle', () => execution.steps.run(() => settleVideo(dependencies, taskId, ending)))
      },
    },
  })

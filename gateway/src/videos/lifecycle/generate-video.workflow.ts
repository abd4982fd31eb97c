/**
 * The workflow of one video task after its admission: submit, wait for the outcome or the deadline, store the result,
 * settle.
 *
 * Why durable: a task takes minutes, depends on a provider, must survive restarts, and has money on hold.
 * Key: `<task id>~<run>`. The record in PostgreSQL decides everything; the workflow only carries the work. A run that a
 * newer run has replaced ends at its next step, so an extra start is harmless.
 * Deadline: the task's own. The wait ends there at the latest, and the task fails with its hold released.
 * Failures: a busy provider puts the task back into the queue, a refused job fails the task, a download is retried until
 * the deadline, and the engine retries a step that throws.
 */
import * as restate from '@restatedev/restate-sdk'

import { durable, workflowRetention } from '../../platform/engine/restate.ts'
import { parseRunKey } from '../../platform/engine/run-key.ts'
import { enhancePrompt, type EnhanceDependencies } from '../prompts/enhance-prompt.ts'
import { settleVideo, type SettleDependencies } from './settle-video.ts'
import { storeResult, type StoreDependencies, type Stored } from './store-result.ts'
import { submitVideo, type Submitted, type SubmitDependencies } from './submit-video.ts'

export const generateVideoName = 'generateVideo'

export type GenerateDependencies = EnhanceDependencies &
  SubmitDependencies &
  StoreDependencies &
  SettleDependencies

/** Enhances the prompt first if the task requests it and it has not been done. Other tasks need one step only. */
const submit = async (
  ctx: restate.WorkflowContext,
  dependencies: GenerateDependencies,
  awakeable: string,
): Promise<Submitted> => {
  const { taskId, run } = parseRunKey(ctx.key)
  const submitted = await ctx.run('submit', () => submitVideo(dependencies, taskId, run, awakeable))
  if (submitted.kind !== 'needs_enhancing') return submitted
  await ctx.run('enhance', () => enhancePrompt(dependencies, taskId, run))
  return ctx.run('submit', () => submitVideo(dependencies, taskId, run, awakeable))
}

/** Waits for the next try without a slot of the engine, because the engine suspends a run that sleeps. */
const store = async (
  ctx: restate.WorkflowContext,
  dependencies: GenerateDependencies,
): Promise<Exclude<Stored, { kind: 'retry' }>> => {
  const { taskId, run } = parseRunKey(ctx.key)
  for (let attempt = 0; ; attempt += 1) {
    const stored = await ctx.run('store', () => storeResult(dependencies, taskId, run, attempt))
    if (stored.kind !== 'retry') return stored
    await ctx.sleep(stored.waitMs)
  }
}

export const generateVideo = (dependencies: GenerateDependencies, suspendAfterMs: number) =>
  restate.workflow({
    name: generateVideoName,
    options: { ...durable(suspendAfterMs), workflowRetention },
    handlers: {
      run: async (ctx: restate.WorkflowContext): Promise<void> => {
        const { taskId } = parseRunKey(ctx.key)
        // The poll loop resolves it once the outcome of the job is recorded.
        const outcome = ctx.awakeable<null>()

        // 1. Submit the job to its provider.
        const submitted = await submit(ctx, dependencies, outcome.id)
        if (submitted.kind === 'stop' || submitted.kind === 'needs_enhancing') return

        // 2. Wait for the outcome or the deadline.
        if (submitted.kind === 'waiting') {
          try {
            await outcome.promise.orTimeout({ milliseconds: submitted.remainingMs })
          } catch (error) {
            if (!(error instanceof restate.TimeoutError)) throw error
          }
        }

        // 3. Store the result.
        const ending = await store(ctx, dependencies)
        if (ending.kind === 'stop') return

        // 4. Settle: status and money change together, once.
        await ctx.run('settle', async () => {
          await settleVideo(dependencies, taskId, ending)
        })
      },
    },
  })

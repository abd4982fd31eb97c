/**
 * The life of one video task after it was accepted.
 *
 * Why durable: it spans minutes, other people's machines and our own restarts, and money hangs on it.
 * Key: `<task id>~<run>`. The record in PostgreSQL decides everything; this only carries the work. A run
 * that the record has moved past ends at its next step, so starting one too many is harmless.
 * Deadline: the task's own. The wait ends there whatever happens, and the task fails with its hold released.
 * Failures: a busy provider puts the task back in line; a refused job fails it; a step that throws is tried
 * again by the engine until it passes or the deadline has.
 */
import * as restate from '@restatedev/restate-sdk'

import { durable } from '../../platform/engine/restate.ts'
import { parseRunKey } from '../../platform/engine/run-key.ts'
import { enhancePrompt, type EnhanceDependencies } from '../prompts/enhance-prompt.ts'
import { settleVideo, type SettleDependencies } from './settle-video.ts'
import { storeResult, type StoreDependencies } from './store-result.ts'
import { submitVideo, type SubmitDependencies } from './submit-video.ts'

export const generateVideoName = 'generateVideo'

export type GenerateDependencies = EnhanceDependencies &
  SubmitDependencies &
  StoreDependencies &
  SettleDependencies

export const generateVideo = (dependencies: GenerateDependencies, suspendAfterMs: number) =>
  restate.workflow({
    name: generateVideoName,
    options: { ...durable(suspendAfterMs), workflowRetention: { days: 1 } },
    handlers: {
      run: async (ctx: restate.WorkflowContext): Promise<void> => {
        const { taskId, run } = parseRunKey(ctx.key)

        // 1. Give the job to its provider, with a way to bring us its news. Where the record says that the
        // prompt is still to be rewritten, that comes first; no other task has a step for it.
        const news = ctx.awakeable<null>()
        let submitted = await ctx.run('submit', () => submitVideo(dependencies, taskId, run, news.id))
        if (submitted.kind === 'unenhanced') {
          await ctx.run('enhance', () => enhancePrompt(dependencies, taskId, run))
          submitted = await ctx.run('submit', () => submitVideo(dependencies, taskId, run, news.id))
        }
        if (submitted.kind === 'over' || submitted.kind === 'unenhanced') return

        // 2. Wait for the news, but no longer than the deadline.
        if (submitted.kind === 'waiting') {
          try {
            await news.promise.orTimeout({ milliseconds: submitted.remainingMs })
          } catch (error) {
            if (!(error instanceof restate.TimeoutError)) throw error
          }
        }

        // 3. Make the video ours, or learn why there is none.
        const ending = await ctx.run('keep', () => storeResult(dependencies, taskId, run))
        if (ending.kind === 'over') return

        // 4. Status and money, together and once.
        await ctx.run('settle', async () => {
          await settleVideo(dependencies, taskId, ending)
        })
      },
    },
  })

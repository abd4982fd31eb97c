/**
 * The enhance step of a run, for tasks that request it: rewrites the prompt before the job is submitted. The result is
 * recorded once. If enhancing fails, the prompt stays as given.
 */
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { touchRun } from '../open-task-store.ts'
import { findTask, recordEnhanced } from '../task-store.ts'
import type { VideoTask } from '../task.ts'

export interface PromptEnhancer {
  /** Whether it can enhance this prompt. If not, the response lists the parameter as ignored. */
  canEnhance: (prompt: string) => boolean
  enhance: (prompt: string, signal: AbortSignal) => Promise<string>
}

export interface EnhanceDependencies {
  postgres: Postgres
  enhancer: PromptEnhancer
  log: Log
}

// May exceed the silence after which a start is repeated; starting the same run twice has no effect.
const timeoutMs = 20_000
const promptCharactersMax = 32_000

export const needsEnhancing = ({ order }: Pick<VideoTask, 'order'>): boolean =>
  order.enhance === true && order.isEnhanced !== true

const enhancedOrSame = async ({ enhancer, log }: EnhanceDependencies, task: VideoTask): Promise<string> => {
  const { prompt } = task.order
  try {
    const enhanced = await enhancer.enhance(prompt, AbortSignal.timeout(timeoutMs))
    return enhanced.trim() === '' || [...enhanced].length > promptCharactersMax ? prompt : enhanced
  } catch (error) {
    log.warn({ err: error, taskId: task.id }, 'prompt.enhance-failed')
    return prompt
  }
}

export const enhancePrompt = async (
  dependencies: EnhanceDependencies,
  taskId: string,
  run: number,
): Promise<void> => {
  const { postgres } = dependencies
  const open = await touchRun(postgres, taskId, run)
  const task = open && (await findTask(postgres, open.day, taskId))
  if (task === undefined || !needsEnhancing(task)) return
  await recordEnhanced(postgres, task.day, taskId, await enhancedOrSame(dependencies, task))
}

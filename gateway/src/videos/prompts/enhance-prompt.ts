/**
 * The enhance step of a run, for tasks that request it: rewrites the prompt before the job is submitted. The result is
 * recorded once. If enhancing fails, the prompt stays as given.
 */
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { isCurrentRun } from '../../tasks/run-store.ts'
import { dayOfTaskId } from '../task-id.ts'
import { findTask, recordEnhanced } from '../task-store.ts'
import { videoTables, type VideoTask } from '../task.ts'

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
  const day = dayOfTaskId(taskId)
  if (day === undefined || !(await isCurrentRun(postgres, videoTables, { taskId, run }))) return
  const task = await findTask(postgres, day, taskId)
  if (task === undefined || !needsEnhancing(task)) return
  await recordEnhanced(postgres, task.day, taskId, await enhancedOrSame(dependencies, task))
}

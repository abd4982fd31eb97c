import type { Provider } from '../../providers/port/provider.ts'
import type { OpenTask } from '../open-task-store.ts'

/**
 * The time of one submit. It ends before another execution may consider the submit as failed, so nothing is sent after
 * it.
 */
export interface TimeLimit {
  endsMs: number
  signal: AbortSignal
  /** Whether the deadline of the task leaves the provider less time than its timeout. */
  isCutShort: boolean
}

export const timeLimitOf = ({ deadlineMs }: OpenTask, { timeoutsMs }: Provider): TimeLimit => {
  const startedMs = performance.now()
  const remainingMs = Math.max(0, deadlineMs - startedMs)
  const timeoutMs = Math.min(timeoutsMs.submit, Math.ceil(remainingMs))
  const isCutShort = remainingMs < timeoutsMs.submit
  return { endsMs: startedMs + timeoutMs, signal: AbortSignal.timeout(timeoutMs), isCutShort }
}

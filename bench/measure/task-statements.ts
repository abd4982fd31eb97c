/** The statements on tasks, of which few are executed without tasks. */
import type { FaultStack } from '../../gateway/test/faults/fault-stack.ts'
import { readWork } from './database-work.ts'

const ofTasks =
  /\b(?:open_tasks|video_tasks|task_attempts|task_events|media|ledger_entries|tasks_in_flight)\b/

export const countTaskStatements = async (stack: FaultStack): Promise<number> => {
  const { statements } = await readWork(stack)
  return statements
    .entries()
    .filter(([text]) => ofTasks.test(text))
    .reduce((sum, [, calls]) => sum + calls, 0)
}

/** The metrics of a task that has ended. */
import { count, isMeasured, measure } from '../../platform/metrics/metrics.ts'
import type { FinishedTask } from '../task-store.ts'
import type { Ending } from '../task.ts'

const kind = 'video'

/** The stages that the task has completed, by the clock of the database. */
const stagesOf = ({ createdAt, finishedAt, endState }: FinishedTask) => {
  const submittedAt = endState?.submittedAt === undefined ? undefined : new Date(endState.submittedAt)
  const outcomeAt = endState?.outcomeAt === undefined ? undefined : new Date(endState.outcomeAt)
  const isStored = endState?.outcome === 'done'
  return [
    { stage: 'queue', from: createdAt, to: submittedAt },
    { stage: 'provider', from: submittedAt, to: outcomeAt },
    { stage: 'store', from: isStored ? outcomeAt : undefined, to: finishedAt },
    { stage: 'total', from: createdAt, to: finishedAt },
  ] as const
}

export const measureEnd = (task: FinishedTask, ending: Ending): void => {
  if (!isMeasured()) return
  const { model, provider, endState } = task
  const errorCode = ending.kind === 'failed' ? ending.code : undefined
  const outcome = errorCode === 'task_cancelled' ? 'cancelled' : ending.kind
  count('kinora.tasks.ended', { kind, model, outcome, 'error.type': errorCode })
  for (const { stage, from, to } of stagesOf(task)) {
    if (from === undefined || to === undefined) continue
    const labels = { kind, stage, 'gen_ai.provider.name': provider } as const
    measure('kinora.task.stage.duration', (to.getTime() - from.getTime()) / 1000, labels)
  }
  if (endState === null) return
  count('kinora.task.retries', { kind, stage: 'submit' }, Math.max(0, endState.submits - 1))
  count('kinora.task.retries', { kind, stage: 'download' }, endState.failedDownloads)
  count('kinora.task.retries', { kind, stage: 'run' }, endState.lostRuns)
}

/** The metrics of a transcription task that has ended. */
import { count, isMeasured, measure } from '../../platform/metrics/metrics.ts'
import type { FinishedTranscription } from '../transcription-task-store.ts'
import type { Ending } from '../transcription-task.ts'

const kind = 'transcription'

export const measureEnd = (task: FinishedTranscription, ending: Ending): void => {
  if (!isMeasured()) return
  const { model, createdAt, finishedAt, endState } = task
  const errorCode = ending.kind === 'failed' ? ending.code : undefined
  const outcome = errorCode === 'task_cancelled' ? 'cancelled' : ending.kind
  count('kinora.tasks.ended', { kind, model, outcome, 'error.type': errorCode })
  const startedAt = endState?.startedAt === undefined ? undefined : new Date(endState.startedAt)
  const stages = [
    { stage: 'queue', from: createdAt, to: startedAt },
    { stage: 'transcribe', from: startedAt, to: finishedAt },
    { stage: 'total', from: createdAt, to: finishedAt },
  ] as const
  for (const { stage, from, to } of stages) {
    if (from === undefined || to === undefined) continue
    const labels = { kind, stage, 'gen_ai.provider.name': undefined } as const
    measure('kinora.task.stage.duration', (to.getTime() - from.getTime()) / 1000, labels)
  }
  if (endState !== null) count('kinora.task.retries', { kind, stage: 'run' }, endState.lostRuns)
}

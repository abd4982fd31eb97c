import type { FailureExplanation, StepKind } from '@kinora/contract/operations/video-timelines'
import { taskErrors, taskRemedies, type TaskErrorCode } from '@kinora/contract/task-errors'

import type { TaskDetail } from '../admin/tasks/task-store.ts'
import type { TimelineStep } from './timeline-step.ts'

const places: Partial<Record<StepKind, string>> = {
  queue: 'It was still waiting for a free slot.',
  submit: 'It was not accepted for generation.',
  generate: 'It failed while it was generated.',
  store: 'It failed after it was generated, while the result was stored.',
  transcribe: 'It failed while it was transcribed.',
}

const isTaskError = (code: string | null): code is TaskErrorCode =>
  code !== null && Object.hasOwn(taskErrors, code)

/** Why a task failed, for its customer; null if it has not failed. Nothing in it is about the provider. */
export const explainFailure = (
  task: Pick<TaskDetail, 'state' | 'errorCode' | 'errorMessage' | 'capturedMicros'>,
  steps: TimelineStep[],
  currency: string,
): FailureExplanation | null => {
  const { state, errorCode, errorMessage, capturedMicros } = task
  if (state !== 'failed') return null
  const code = isTaskError(errorCode) ? errorCode : 'upstream_error'
  const message = errorMessage === null || errorMessage === '' ? taskErrors[code] : errorMessage
  const last = steps.findLast(({ kind }) => places[kind] !== undefined)
  const place = last === undefined || code === 'task_cancelled' ? '' : ` ${places[last.kind]}`
  return {
    cause: `${message}${place}`,
    what_to_do: taskRemedies[code].whatToDo,
    charged_micros: capturedMicros ?? 0,
    currency,
    is_repeat_safe: taskRemedies[code].isRepeatSafe,
  }
}

/** The codes of failed tasks, and what to do about each. */
import { errors } from './errors.ts'

/** Error codes of failed tasks. `task_timeout` and `task_cancelled` are never the error of a request. */
export const taskErrors = {
  content_policy_violation: 'The provider rejected the prompt or an image because of its content.',
  invalid_image: 'A reference image is invalid.',
  invalid_parameter: 'The provider rejected a parameter of the request.',
  upstream_error: 'The provider failed to generate the result.',
  task_timeout: 'The task was not completed before its deadline.',
  task_cancelled: 'The task was cancelled.',
} as const

export type TaskErrorCode = keyof typeof taskErrors

/** What a customer can do about a failed task, and whether the unchanged request may be sent again. */
export const taskRemedies: Record<TaskErrorCode, { whatToDo: string; isRepeatSafe: boolean }> = {
  content_policy_violation: { whatToDo: errors.content_policy_violation.hint, isRepeatSafe: false },
  invalid_image: { whatToDo: errors.invalid_image.hint, isRepeatSafe: false },
  invalid_parameter: {
    whatToDo: 'Correct the parameter that the cause names, then send the request again.',
    isRepeatSafe: false,
  },
  upstream_error: {
    whatToDo: `${errors.upstream_error.hint} If it fails again, use another model.`,
    isRepeatSafe: true,
  },
  task_timeout: {
    whatToDo:
      'Send the request again, or use another model. `GET /status` tells whether the service is degraded.',
    isRepeatSafe: true,
  },
  task_cancelled: {
    whatToDo: 'Nothing. If you still want the result, send the request again.',
    isRepeatSafe: true,
  },
}

/** What each cause means for a task, and what to do about it. */
import type { TaskCause } from '@kinora/contract/operations/admin/task-explanations'

import { remedyFor } from '../../routing/route.ts'
import type { ExplainedTask } from './explained-task.ts'
import { isWithoutWorkers, lastAttemptOf } from './find-cause.ts'
import { durationText, quote } from './texts.ts'

interface CauseText {
  text: string
  fix: string | null
}

const providerOf = (task: ExplainedTask): string => lastAttemptOf(task)?.provider ?? 'The provider'

/** What is known of the failure, if anything. */
const saying = (task: ExplainedTask): string => {
  const reason = lastAttemptOf(task)?.failureReason
  return reason === null || reason === undefined ? '' : ` The reason: ${quote(reason)}`
}

/** The recording of a transcription is removed when the task ends. */
const retryFix = ({ id, kind, state }: ExplainedTask): string => {
  if (state !== 'failed') return ''
  return kind === 'video'
    ? ` Then retry the task with \`kinora tasks retry ${id}\` or POST /admin/v1/tasks/{id}/retry.`
    : ' Then the customer can send the recording again.'
}

const deadlineOf = ({ createdAt, work: { deadlineAt } }: ExplainedTask): string =>
  deadlineAt === undefined
    ? 'its deadline'
    : `its deadline of ${durationText(deadlineAt.getTime() - createdAt.getTime())}`

/** Failures of our own media store are not counted as failed downloads. */
const isNotStoredYet = ({ state, work }: ExplainedTask): boolean =>
  state !== 'failed' && work.failedDownloads === 0

const texts: Record<TaskCause, (task: ExplainedTask) => CauseText> = {
  completed: () => ({ text: 'The task is completed.', fix: null }),
  queued: () => ({
    text: 'The task waits in the queue for a free slot. Nothing is known to be wrong.',
    fix: 'Wait. If the queue is long, raise `slots` of the provider, add a route to the model, or raise concurrency_per_account in PATCH /admin/v1/settings.',
  }),
  running: ({ work: { stage } }) => ({
    text: `The task is in progress (stage ${stage}). Nothing is known to be wrong.`,
    fix: null,
  }),
  queue_full: (task) => ({
    text: `The task was never submitted: until ${deadlineOf(task)}, no slot was free for it, or no worker started it.`,
    fix: `Raise \`slots\` of the provider or concurrency_per_account, add a route to the model, or raise TASK_DEADLINE_SECONDS. If tasks of other accounts also waited, check that workers ran at that time.${retryFix(task)}`,
  }),
  credential_refused: (task) => {
    const provider = lastAttemptOf(task)?.provider
    return {
      text: `The provider refuses our API key, so the task could not be submitted.${saying(task)}`,
      fix: `${provider === null || provider === undefined ? 'Set a valid API key for the provider.' : remedyFor(provider)}${task.state === 'failed' ? retryFix(task) : ' Waiting tasks then continue by themselves.'}`,
    }
  },
  breaker_open: (task) => ({
    text: `The circuit breaker of the route is open, so the provider was not called: ${task.work.health?.reason}.${saying(task)}`,
    fix: `Check the provider with POST /admin/v1/providers/{name}/test, and its status page. Add a route through another provider, so that tasks move there.${task.state === 'failed' ? retryFix(task) : ' The provider is tried again by itself; POST /admin/v1/providers/{name}/reset-health does so now.'}`,
  }),
  budget_spent: (task) => ({
    text: `The task waits because the budget of its provider is spent for today, and no other route can take it now.${saying(task)}`,
    fix: `Raise budget_per_day_micros with PUT /admin/v1/providers/{name}, or add a route through another provider. GET /admin/v1/providers/{name} shows what was spent.${task.state === 'failed' ? retryFix(task) : ' Otherwise the task continues at 00:00 UTC, if that is before its deadline.'}`,
  }),
  provider_busy: (task) => ({
    text: `${providerOf(task)} had no capacity or limited our rate.${saying(task)}`,
    fix: `Lower \`slots\` of the provider to what the account at the vendor allows, ask the vendor for more, or add a route.${retryFix(task)}`,
  }),
  provider_unreachable: (task) => ({
    text: `${providerOf(task)} could not be reached.${saying(task)}`,
    fix: `Check \`base_url\` of the provider, DNS and the outgoing network with POST /admin/v1/providers/{name}/test.${retryFix(task)}`,
  }),
  provider_failed: (task) => ({
    text: `${providerOf(task)} failed to make the result.${saying(task)}`,
    fix: `Read the message of the provider above. If it is a fault of the vendor, report it there; if it happens often, prefer another route.${retryFix(task)}`,
  }),
  moderated: (task) => ({
    text: `The provider rejected the prompt, an image or the recording because of its content.${saying(task)}`,
    fix: 'The customer must change the request. A retry with the same content would be rejected again.',
  }),
  request_invalid: (task) => ({
    text: `The provider rejected a parameter or a file of the request.${saying(task)}${task.errorMessage === null ? '' : ` The customer sees: ${task.errorMessage}`}`,
    fix: 'The customer must change the request. If the parameter should be valid, restrict the route: `seconds` and `sizes` of the model.',
  }),
  deadline: (task) => ({
    text: `The provider accepted the work and did not finish it before ${deadlineOf(task)}.`,
    fix: `Compare with the usual duration of other tasks of the model. If the provider is slow today, prefer another route; if ${task.model} always takes this long, raise TASK_DEADLINE_SECONDS.${retryFix(task)}`,
  }),
  cancelled: ({ operatorAction }) =>
    operatorAction === undefined
      ? {
          text: 'The customer cancelled or deleted the task.',
          fix: 'Nothing. The job was cancelled at the provider, if the provider can do that.',
        }
      : {
          text: 'An operator cancelled the task. The audit log names the operator.',
          fix: 'Nothing. GET /admin/v1/audit-log?target=<id of the task> shows who did it.',
        },
  download_failed: (task) => ({
    text: `The provider made the result, and it ${isNotStoredYet(task) ? 'is not downloaded and stored yet' : 'could not be downloaded and stored'}.${saying(task)}${task.work.failedDownloads > 0 ? ` Downloads that failed: ${task.work.failedDownloads}.` : ''}`,
    fix: `Check that workers reach the host of the results, that the media store has space, and the log lines video.store-failed of this task.${task.state === 'failed' ? ` The vendor may have charged for it.${retryFix(task)}` : ' The download is repeated until the deadline.'}`,
  }),
  unknown_outcome: (task) => ({
    text: `The response of ${lastAttemptOf(task)?.provider ?? 'the provider'} to the submit was lost, so it is unknown whether it has a job for the task. The task is not submitted again by itself, because the vendor could charge twice.${saying(task)}`,
    fix:
      task.state === 'failed'
        ? `Look for the job in the console of the vendor; it may be charged.${retryFix(task)}`
        : `Look for the job in the console of the vendor. If it has none, decide: POST /admin/v1/tasks/${task.id}/resolve with {"action":"retry"} or {"action":"fail"}. Otherwise the task fails at its deadline.`,
  }),
  engine_lost: (task) => {
    if (task.state !== 'failed' && isWithoutWorkers(task)) {
      const { heartbeatSeconds } = task
      return {
        text: `No worker has reached Restate ${heartbeatSeconds === undefined ? 'so far' : `for ${durationText(heartbeatSeconds * 1000)}`}, so no task progresses.`,
        fix: 'Start the workers and Restate, and look for engine.unreachable in the log of the workers. Tasks then continue by themselves.',
      }
    }
    const { deadlineAt, lostRuns } = task.work
    const late =
      task.state === 'failed' || deadlineAt === undefined || deadlineAt.getTime() > task.nowMs
        ? ''
        : ` It should have ended at its deadline, ${durationText(task.nowMs - deadlineAt.getTime())} ago.`
    return {
      text: `Restate lost the run of the task (${lostRuns} times so far), or did not start it.${late}`,
      fix:
        task.state === 'failed'
          ? `Check that Restate keeps its data and that workers were up, with \`kinora engine check\`.${retryFix(task)}`
          : 'Workers compare Restate with the database every ten seconds and start the run again. `kinora engine check` does so now, and shows what it repaired.',
    }
  },
}

export const describeCause = (cause: TaskCause, task: ExplainedTask): CauseText => texts[cause](task)

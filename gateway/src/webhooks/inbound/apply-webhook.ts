/**
 * Applies a verified webhook to its task. A webhook is only a hint: the job is polled before its outcome is recorded. Only
 * the reference of the job is used, because after a submit with an unknown outcome it may be the only source of it.
 */
import type { Postgres } from '../../platform/postgres.ts'
import type { WebhookEvent, VideoProvider } from '../../providers/port/video.ts'
import { markProcessing } from '../../tasks/task-store.ts'
import { isSameJob } from '../../videos/lifecycle/same-job.ts'
import { recordSubmitted } from '../../videos/lifecycle/submit-store.ts'
import { recordAttempts } from '../../videos/task-attempt-store.ts'
import { videoTables } from '../../videos/task.ts'
import {
  hasFailedWithoutJob,
  isJobOfOtherTask,
  lockOpenTask,
  pollNow,
  recordReceipt,
} from './webhook-receipt-store.ts'

/**
 * `redelivery`: the event was received before · `task_ended`: the task has ended or does not exist · `job_too_late`: the task
 * has failed without a job · `other_task`: the job belongs to another task · `duplicate_job`: the task has a different job · `job_found`: the task's job was not known
 * before · `poll_due`: the job is polled now · `outcome_known`: the outcome of the job is recorded already.
 */
export type WebhookEffect =
  | 'redelivery'
  | 'task_ended'
  | 'job_too_late'
  | 'other_task'
  | 'duplicate_job'
  | 'job_found'
  | 'poll_due'
  | 'outcome_known'

export const applyWebhook = (
  postgres: Postgres,
  video: Pick<VideoProvider, 'isSameJob'>,
  {
    provider,
    taskId,
    day,
    event: { id, ref },
  }: { provider: string; taskId: string; day: string; event: WebhookEvent },
): Promise<WebhookEffect> =>
  postgres.transaction(async (database) => {
    if (!(await recordReceipt(database, { provider, taskId, id }))) return 'redelivery'
    const open = await lockOpenTask(database, taskId)
    if (open === undefined) {
      if (!(await hasFailedWithoutJob(database, day, taskId))) return 'task_ended'
      return (await isJobOfOtherTask(database, { provider, taskId, ref })) ? 'other_task' : 'job_too_late'
    }
    const job = open.upstream as WebhookEvent['ref']
    const isAtProvider = open.provider === provider
    if (isAtProvider && job !== null && isSameJob(video, job, ref)) {
      return (await pollNow(database, taskId)) ? 'poll_due' : 'outcome_known'
    }
    if (isAtProvider && job === null) {
      const records = await recordSubmitted(database, [{ taskId, provider, upstream: ref, firstPollMs: 0 }])
      if (records.get(taskId) === 'claimed_by_other') return 'other_task'
      await markProcessing(database, videoTables, [{ day, id: taskId }])
      return 'job_found'
    }
    if (await isJobOfOtherTask(database, { provider, taskId, ref })) return 'other_task'
    await recordAttempts(database, [
      {
        taskId,
        day,
        provider,
        upstreamModel: '',
        decision: null,
        startedAt: new Date(),
        outcome: 'accepted',
        isDuplicate: true,
        exchanges: [],
        failureReason: null,
      },
    ])
    return 'duplicate_job'
  })

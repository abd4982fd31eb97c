/**
 * What genuine news change. They are hints: the job is checked before anything is believed of how it went. Only that there
 * is a job is taken from them, because after a submit whose answer was lost nobody else would ever say so.
 */
import type { Postgres } from '../../platform/postgres.ts'
import type { WebhookEvent, VideoProvider } from '../../providers/port/video.ts'
import { isSameJob } from '../../videos/lifecycle/same-job.ts'
import { recordAttempt, recordSubmitted } from '../../videos/open-task-store.ts'
import { markProcessing } from '../../videos/task-store.ts'
import { checkNow, isJobOfAnother, lockConcerned, recordReceipt } from './webhook-receipt-store.ts'

/**
 * `repeat`: they were heard before · `over`: the task has ended, or never was · `elsewhere`: the job is another task's ·
 * `duplicate`: the task has another job · `found`: the task's job was not known until now · `due`: the job is to be
 * checked · `known`: how the job went is known already.
 */
export type Heard = 'repeat' | 'over' | 'elsewhere' | 'duplicate' | 'found' | 'due' | 'known'

export const applyWebhook = (
  postgres: Postgres,
  video: Pick<VideoProvider, 'isSameJob'>,
  {
    provider,
    taskId,
    day,
    event: { id, ref },
  }: { provider: string; taskId: string; day: string; event: WebhookEvent },
): Promise<Heard> =>
  postgres.transaction(async (database) => {
    if (!(await recordReceipt(database, { provider, taskId, id }))) return 'repeat'
    const concerned = await lockConcerned(database, taskId)
    if (concerned === undefined) return 'over'
    const known = concerned.upstream as WebhookEvent['ref']
    const isThere = concerned.provider === provider
    if (isThere && known !== null && isSameJob(video, known, ref)) {
      return (await checkNow(database, taskId)) ? 'due' : 'known'
    }
    if (isThere && known === null) {
      if ((await recordSubmitted(database, { taskId, provider }, ref, 0)) === "another's") return 'elsewhere'
      await markProcessing(database, day, taskId)
      return 'found'
    }
    if (await isJobOfAnother(database, { provider, taskId, ref })) return 'elsewhere'
    await recordAttempt(database, {
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
    })
    return 'duplicate'
  })

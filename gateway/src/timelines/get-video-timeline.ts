import type { operations } from '@kinora/contract/operations'

import { readAnyTask } from '../admin/tasks/read-any-task.ts'
import { secondsOf, secondsOrNull } from '../admin/unix-time.ts'
import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { presentDetails } from '../videos/api/present-details.ts'
import { dialectOf, presentVideo } from '../videos/api/present-video.ts'
import type { ReadTask } from '../videos/api/read-task.ts'
import type { EstimateTask } from '../videos/queue/estimate-task.ts'
import { presentSteps } from './present-step.ts'
import { readTimeline } from './read-timeline.ts'

export const getVideoTimeline =
  ({
    database,
    readTask,
    estimateTask,
    taskDays,
  }: {
    database: Database
    readTask: ReadTask
    estimateTask: EstimateTask
    taskDays: () => number
  }): Handler<typeof operations.getVideoTimeline> =>
  async (call) => {
    const { accountId, currency } = call.caller
    // Only this read checks whose task it is.
    const video = await readTask(call.path.id, accountId, { isFresh: true })
    const task = await readAnyTask(database, video.id)
    const { createdAt, finishedAt, capturedMicros } = task
    const options = { currency, taskDays: taskDays(), isForCustomer: true }
    const { steps, explanation, lineage } = await readTimeline(database, task, options)
    return {
      body: {
        id: video.id,
        object: 'video.timeline',
        status: presentVideo(video, null, dialectOf(call)).status,
        created_at: secondsOf(createdAt),
        finished_at: secondsOrNull(finishedAt),
        currency,
        details: presentDetails({ ...video, capturedMicros }, currency, await estimateTask(video)),
        steps: presentSteps(steps, { createdAt, currency }),
        explanation,
        lineage,
      },
    }
  }

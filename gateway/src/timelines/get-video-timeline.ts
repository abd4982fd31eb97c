import type { operations } from '@kinora/contract/operations'
import type { VideoTimeline } from '@kinora/contract/operations/video-timelines'

import { readAnyTask } from '../admin/tasks/read-any-task.ts'
import { secondsOf, secondsOrNull } from '../admin/unix-time.ts'
import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { presentDetails } from '../videos/api/present-details.ts'
import { dialectOf, presentVideo } from '../videos/api/present-video.ts'
import type { ReadTask } from '../videos/api/read-task.ts'
import type { EstimateTask } from '../videos/queue/estimate-task.ts'
import type { VideoOrder } from '../videos/task.ts'
import { presentSteps } from './present-step.ts'
import { readTimeline } from './read-timeline.ts'

const presentRequest = (order: VideoOrder): VideoTimeline['request'] => {
  const { width, height, watermark, isPrivate, sound, style, enhance, characters, images } = order
  return {
    ...{ width, height, watermark, private: isPrivate, sound: sound !== false, style: style ?? null },
    enhance_prompt: enhance === true,
    characters: characters?.map(({ username }) => username) ?? [],
    files:
      (images ?? 0) + Number(order.hasReferenceVideo === true) + Number(order.hasReferenceAudio === true),
  }
}

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
        request: presentRequest(video.order),
        steps: presentSteps(steps, { createdAt, currency }),
        explanation,
        lineage,
      },
    }
  }

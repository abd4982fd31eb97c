import type { ApiError } from '@kinora/contract/errors'

import { refusalOfStop, refusalOfWait } from '../../routing/queue-overload.ts'
import type { QueueWait } from '../../routing/queue-wait.ts'
import type { Route, Router } from '../../routing/route.ts'
import type { JobDurations } from '../polling/job-durations.ts'

export interface QueueOverload {
  /** The refusal of a task that would wait too long at this route; undefined if it may wait there. */
  refusalAt: (route: Route, model: string, accountId: string) => ApiError | undefined
  /** Counts a task that was just accepted. */
  add: QueueWait['add']
}

export const createQueueOverload = (
  queueWait: QueueWait,
  durationsOf: JobDurations['of'],
  waitMsMax: number,
  stopAt: Router['stopAt'],
): QueueOverload => ({
  refusalAt: ({ provider, slots }, model, accountId) => {
    const { name } = provider
    if (stopAt(name) !== undefined) return refusalOfStop(model)
    const durationMs = durationsOf(name, model)?.p50
    // A busy slot starts its next task when a job ends.
    const startsPerSecond = durationMs === undefined ? undefined : (slots * 1000) / durationMs
    // A model with fewer slots than its provider waits for these alone.
    const part = { queue: name, model: slots < provider.slots ? model : undefined }
    return refusalOfWait(
      queueWait.waitMs(part, accountId, startsPerSecond),
      waitMsMax,
      `'${model}' is currently`,
    )
  },
  add: queueWait.add,
})

/**
 * The queue position and the time left of a task, for status reads and events. Only a task that waits needs a statement,
 * which concurrent reads share; everything else is in memory.
 */
import type { Log } from '../../platform/log.ts'
import type { OwnPlace, Range } from '../../routing/queue-position.ts'
import type { QueuePart, QueueWait } from '../../routing/queue-wait.ts'
import type { Router } from '../../routing/route.ts'
import type { JobDurations } from '../polling/job-durations.ts'
import type { VideoTask } from '../task.ts'
import type { QueuePlace } from './queue-place-store.ts'
import { countedMax, type ReadQueuePlace } from './queue-place.ts'
import { timeLeftOfJob, timeLeftOfWaiting } from './time-left.ts'

/** Unknown values are absent, and so is everything once the task has ended. */
export interface Estimate {
  /** Tasks that start before this one, while it waits. */
  queuePosition?: Range
  timeLeftSeconds?: Range
}

type Estimated = Pick<
  VideoTask,
  'id' | 'accountId' | 'keyId' | 'model' | 'provider' | 'state' | 'statusUpdatedAt'
> & { order: Pick<VideoTask['order'], 'seconds'> }

export type EstimateTask = (task: Estimated) => Promise<Estimate>

interface EstimateDependencies {
  readQueuePlace: ReadQueuePlace
  queueWait: Pick<QueueWait, 'positionOf' | 'startsPerSecond'>
  durationsOf: JobDurations['of']
  router: Pick<Router, 'routesOf' | 'healthOf'>
  log: Log
}

const timeLeft = (timeLeftSeconds: Range | undefined): Estimate =>
  timeLeftSeconds === undefined ? {} : { timeLeftSeconds }

/** The tasks of the key in front of this one. Tasks of other models may have to wait for slots of their own. */
const aheadOf = (place: QueuePlace, isOfModel: boolean): OwnPlace['ahead'] => {
  const { tasks, seconds, tasksOfModel, secondsOfModel } = place
  const isCounted = tasks < countedMax
  return {
    tasks: { min: tasksOfModel, max: isCounted ? (isOfModel ? tasksOfModel : tasks) : Infinity },
    cost: { min: secondsOfModel, max: isOfModel ? secondsOfModel : seconds },
  }
}

export const createEstimateTask = (
  { readQueuePlace, queueWait, durationsOf, router, log }: EstimateDependencies,
  now: () => number = Date.now,
): EstimateTask => {
  const ofWaiting = (task: Estimated, place: QueuePlace): Estimate => {
    const { provider } = place
    const route = router.routesOf(task.model, 'video').find((each) => each.provider.name === provider)
    if (route === undefined) return {}
    // A model with fewer slots than its provider waits for these alone.
    const isOfModel = route.slots < route.provider.slots
    const part: QueuePart = { queue: provider, model: isOfModel ? task.model : undefined }
    const { accountId, keyId, order } = task
    const own = { accountId, keyId, cost: order.seconds, ahead: aheadOf(place, isOfModel) }
    const queuePosition = queueWait.positionOf(part, own)
    if (queuePosition === undefined) return {}
    const durations = durationsOf(provider, task.model)
    const isPaused = router.healthOf(provider, task.model).kind === 'unhealthy'
    if (durations === undefined || isPaused) return { queuePosition }
    const startsPerSecond = queueWait.startsPerSecond(part)
    return {
      queuePosition,
      ...timeLeft(
        timeLeftOfWaiting(durations, { position: queuePosition, slots: route.slots, startsPerSecond }),
      ),
    }
  }

  const ofJob = ({ provider, model }: Estimated, elapsedMs: number): Estimate => {
    const durations = durationsOf(provider, model)
    return timeLeft(durations === undefined ? undefined : timeLeftOfJob(durations, elapsedMs))
  }

  return async (task) => {
    if (task.state === 'processing') return ofJob(task, now() - task.statusUpdatedAt.getTime())
    if (task.state !== 'pending') return {}
    try {
      const place = await readQueuePlace(task.id)
      // It is about to be submitted.
      return place === undefined ? ofJob(task, 0) : ofWaiting(task, place)
    } catch (error) {
      // An estimate must not fail the read of the status.
      log.warn({ err: error }, 'queue-place.not-read')
      return {}
    }
  }
}

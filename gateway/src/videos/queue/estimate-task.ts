/**
 * The queue position and the time left of a task, for status reads and events. Only a task that waits needs a statement,
 * which concurrent reads share; everything else is in memory.
 */
import type { Log } from '../../platform/log.ts'
import type { OwnPlace, Range } from '../../routing/queue-position.ts'
import type { QueuePart, QueueWait } from '../../routing/queue-wait.ts'
import type { Route, Router } from '../../routing/route.ts'
import { quantileOf, type DurationHistogram } from '../polling/duration-histogram.ts'
import type { TaskDurationsOf } from '../polling/task-durations.ts'
import type { VideoTask } from '../task.ts'
import type { QueuePlace } from './queue-place-store.ts'
import { countedMax, type ReadQueuePlace } from './queue-place.ts'
import { timeLeftOfRunning, timeLeftOfWaiting } from './time-left.ts'

/** Unknown values are absent, and so is everything once the task has ended. */
export interface Estimate {
  /** Tasks that start before this one, while it waits. */
  queuePosition?: Range
  timeLeftSeconds?: Range
}

type Estimated = Pick<
  VideoTask,
  'id' | 'accountId' | 'keyId' | 'model' | 'provider' | 'state' | 'statusUpdatedAt'
> & { order: Pick<VideoTask['order'], 'seconds' | 'width' | 'height'> }

export type EstimateTask = (task: Estimated) => Promise<Estimate>

interface EstimateDependencies {
  readQueuePlace: ReadQueuePlace
  queueWait: Pick<QueueWait, 'refresh' | 'positionOf' | 'startsPerSecond' | 'inFlightOf'>
  durationsOf: TaskDurationsOf
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

/**
 * How many tasks can be in flight at once. If the slots are not used up although tasks wait, something else limits the
 * starts; then the measured rate tells how many there are on average.
 */
const usableSlots = (
  slots: number,
  inFlight: number,
  startsPerSecond: number | undefined,
  durations: DurationHistogram,
): number => {
  if (inFlight >= slots || startsPerSecond === undefined) return slots
  const onAverage = (startsPerSecond * quantileOf(durations, 0.5)) / 1000
  return Math.min(slots, Math.max(1, inFlight, Math.round(onAverage)))
}

export const createEstimateTask = (
  { readQueuePlace, queueWait, durationsOf, router, log }: EstimateDependencies,
  now: () => number = Date.now,
): EstimateTask => {
  const durationsOfTask = (provider: string, { model, order }: Estimated) =>
    durationsOf({ provider, model, seconds: order.seconds, pixels: order.width * order.height })

  const timeLeftInQueue = (
    task: Estimated,
    route: Route,
    part: QueuePart,
    position: Range,
  ): Range | undefined => {
    const provider = route.provider.name
    const durations = durationsOfTask(provider, task)
    const durationsAhead = durationsOf({ provider, model: task.model })
    if (durations === undefined || durationsAhead === undefined) return undefined
    const { tasks, running } = queueWait.inFlightOf(part)
    const known = running.map(({ model, seconds, elapsedMs }) => ({
      durations: durationsOf({ provider, model, seconds }) ?? durationsAhead,
      elapsedMs,
    }))
    const slots = usableSlots(route.slots, tasks, queueWait.startsPerSecond(part), durationsAhead)
    return timeLeftOfWaiting({ durations, durationsAhead, position, slots, inFlight: { tasks, known } })
  }

  const ofWaiting = async (task: Estimated, place: QueuePlace): Promise<Estimate> => {
    const { provider } = place
    const route = router.routesOf(task.model, 'video').find((each) => each.provider.name === provider)
    if (route === undefined) return {}
    // A model with fewer slots than its provider waits for these alone.
    const isOfModel = route.slots < route.provider.slots
    const part: QueuePart = { queue: provider, model: isOfModel ? task.model : undefined }
    const { accountId, keyId, order } = task
    const own = { accountId, keyId, cost: order.seconds, ahead: aheadOf(place, isOfModel) }
    await queueWait.refresh()
    const queuePosition = queueWait.positionOf(part, own)
    if (queuePosition === undefined) return {}
    const isPaused = router.healthOf(provider, task.model).kind === 'unhealthy'
    return {
      queuePosition,
      ...(isPaused ? {} : timeLeft(timeLeftInQueue(task, route, part, queuePosition))),
    }
  }

  const ofRunning = (task: Estimated, elapsedMs: number): Estimate => {
    const durations = durationsOfTask(task.provider, task)
    return timeLeft(durations === undefined ? undefined : timeLeftOfRunning(durations, elapsedMs))
  }

  return async (task) => {
    if (task.state === 'processing') return ofRunning(task, now() - task.statusUpdatedAt.getTime())
    if (task.state !== 'pending') return {}
    try {
      const place = await readQueuePlace(task.id)
      // It is about to be submitted.
      return place === undefined ? ofRunning(task, 0) : await ofWaiting(task, place)
    } catch (error) {
      // An estimate must not fail the read of the status.
      log.warn({ err: error }, 'queue-place.not-read')
      return {}
    }
  }
}

/** What is admitted: the task of an order, with its route, its price and its hold. Nothing is written here. */
import { ApiError } from '@kinora/contract/errors'
import type { ImageRole } from '@kinora/contract/operations/video-fields'

import type { Caller } from '../../auth/caller.ts'
import type { PriceList } from '../../billing/prices/price-list.ts'
import { totalOf } from '../../billing/prices/price.ts'
import { walletOf } from '../../billing/spending/spend.ts'
import type { ResponseToStore } from '../../http/call.ts'
import type { VideoModel } from '../../models/model.ts'
import type { Database } from '../../platform/postgres.ts'
import { contextForTask } from '../../platform/tracing/tracing.ts'
import { secondsFor } from '../../routing/choose-route.ts'
import type { Route, Router } from '../../routing/route.ts'
import type { RequestedWebhook } from '../../tasks/requested-webhook.ts'
import type { StoredImage } from '../images/stored-image.ts'
import { costAt, pricedWorkOf } from '../priced-work.ts'
import type { RequestedCharacter } from '../requested-character.ts'
import { requestedSound } from '../requested-sound.ts'
import { shardOf } from '../shard.ts'
import { createModelTaskId, createRemixTaskId, createUuidTaskId, taskIdAt } from '../task-id.ts'
import type { NewTask } from '../task-store.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { requirementsOf } from '../video-requirements.ts'
import type { QueueOverload } from './queue-overload.ts'

/** An order with validated parameters, as an endpoint passes it on. */
export interface Admission {
  caller: Caller
  model: VideoModel
  createdVia: VideoTask['createdVia']
  order: VideoOrder
  /** The reference images first, then the reference video and audio. */
  images: StoredImage[]
  /** Created from a video of this order; the prompt need not name it. */
  character?: RequestedCharacter | undefined
  webhook?: RequestedWebhook | undefined
  /** The provider that must make the video, whichever providers serve the model now. */
  pinnedTo?: string | undefined
  /** Writes in the transaction of the admission. */
  alongside?: ((database: Database, task: VideoTask) => Promise<void>) | undefined
  /** The response to store for idempotent replays. */
  responseToStore?: (task: VideoTask) => ResponseToStore | undefined
}

export interface CandidateDependencies {
  router: Router
  prices: PriceList
  deadlineMs: number
  queueOverload: QueueOverload
}

const idOf = ({ model, createdVia }: Admission, nowMs: number): string => {
  if (createdVia === 'remix') return createRemixTaskId(model.name, nowMs)
  if (createdVia === 'videos' && model.family === 'A') return createUuidTaskId(nowMs)
  return createModelTaskId(model.name, nowMs)
}

/** The length that is made and charged: the requested one, or the next longer one that a route of the model supports. */
const fittingSeconds = ({ router }: CandidateDependencies, { model, order, pinnedTo }: Admission): number => {
  if (pinnedTo !== undefined) return order.seconds
  const routes = router.routesOf(model.id)
  const seconds = secondsFor(routes, order.seconds)
  if (seconds !== undefined) return seconds
  const longest = Math.max(...routes.flatMap((route) => route.seconds ?? []))
  throw new ApiError('invalid_parameter', {
    param: 'seconds',
    message: `'${model.name}' makes videos of up to ${longest} seconds (got ${order.seconds}).`,
  })
}

/** Chooses the route. A route where the task would wait too long is only chosen, and then refused, if there is no other. */
const chooseRoute = (
  { router, queueOverload }: CandidateDependencies,
  { model, caller, pinnedTo }: Admission,
  order: VideoOrder,
) => {
  const refusalAt = (route: Route) => queueOverload.refusalAt(route, model.id, caller.accountId)
  const overloaded = router
    .routesOf(model.id, 'video')
    .flatMap((route) => (refusalAt(route) === undefined ? [] : route.provider.name))
  const chosen = router.choose(model.id, { ...requirementsOf(order, pinnedTo), tried: overloaded })
  if (chosen !== undefined) return { ...chosen, refusal: refusalAt(chosen.route) }
  const canMakeOther = router.routesOf(model.id).some(({ provider }) => provider.video !== undefined)
  throw canMakeOther
    ? new ApiError('invalid_parameter', {
        param: 'size',
        message: `No provider of '${model.name}' makes videos of ${order.seconds} seconds at ${order.width}x${order.height}${order.sound === false ? ' without sound' : ''}. Use another size or length${order.sound === false ? ', or sound' : ''}.`,
      })
    : new ApiError('service_unavailable', { detail: `no provider for ${model.id} is configured` })
}

/** The role of each image: as requested, else those of the model in order, of which the last one is that of all others. */
const rolesOf = ({ model: { imageRoles }, order }: Admission, images: StoredImage[]): ImageRole[] =>
  order.imageRoles ?? images.map((_, index) => imageRoles[index] ?? imageRoles.at(-1) ?? imageRoles[0])

/** What the order says about its reference files. */
const referencesOf = (admission: Admission): Partial<VideoOrder> => {
  const ofType = (type: string) =>
    admission.images.filter(({ contentType }) => contentType.startsWith(`${type}/`))
  const images = ofType('image')
  return {
    ...(images.length > 0 && { images: images.length, imageRoles: rolesOf(admission, images) }),
    ...(ofType('video').length > 0 && { hasReferenceVideo: true }),
    ...(ofType('audio').length > 0 && { hasReferenceAudio: true }),
  }
}

/** An order that is being admitted. */
export interface Candidate {
  admission: Admission
  /** Its time and those in its id and day are of this process. */
  task: NewTask
  /**
   * The task with the time of its hold, which is the creation time. The id contains the same time, so the database's clock
   * determines both.
   */
  taskAt: (atMs: number) => NewTask
}

/** The candidate for an admission, and why it must be refused before anything is written, if so. */
export const newCandidate = (
  admission: Admission,
  dependencies: CandidateDependencies,
): Candidate & { refusal: ApiError | undefined } => {
  const { prices, deadlineMs } = dependencies
  const { caller, model, createdVia } = admission
  const order = {
    ...admission.order,
    seconds: fittingSeconds(dependencies, admission),
    ...referencesOf(admission),
    ...requestedSound(model, admission.order.sound),
  }
  const createdAt = new Date()
  const id = idOf(admission, createdAt.getTime())
  const { route, decision, refusal } = chooseRoute(dependencies, admission, order)
  const { provider } = route
  const lines = prices.pricesOf(model)(pricedWorkOf(order))
  const task: NewTask = {
    id,
    day: createdAt.toISOString().slice(0, 10),
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: model.id,
    modelName: model.name,
    family: model.family,
    createdVia,
    state: 'pending',
    progress: 0,
    order,
    enhancedPrompt: order.prompt,
    provider: provider.name,
    wallet: walletOf(caller),
    prices: lines,
    holdMicros: totalOf(lines),
    createdAt,
    statusUpdatedAt: createdAt,
    mediaId: null,
    mediaExpiresAt: null,
    errorCode: null,
    errorMessage: null,
    shard: shardOf(id, provider.shards),
    decision,
    costMicros: costAt(route, order),
    deadlineMs,
    traceContext: contextForTask(),
  }
  const taskAt = (atMs: number): NewTask => {
    const heldAt = new Date(atMs)
    const idThen = taskIdAt(id, atMs)
    return {
      ...task,
      id: idThen,
      day: heldAt.toISOString().slice(0, 10),
      createdAt: heldAt,
      statusUpdatedAt: heldAt,
      shard: shardOf(idThen, provider.shards),
    }
  }
  return { admission, task, taskAt, refusal }
}

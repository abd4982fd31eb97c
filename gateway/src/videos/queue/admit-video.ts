/**
 * The admission that every endpoint uses: price, hold, task and queue entry in one transaction. Concurrent creates share a
 * commit. The response is sent after the commit; the engine only gets a wake-up, so a create succeeds even if the engine
 * is down.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'
import type { ImageRole } from '@kinora/contract/operations/video-fields'

import type { Caller } from '../../auth/caller.ts'
import type { PriceList } from '../../billing/prices/price-list.ts'
import { totalOf } from '../../billing/prices/price.ts'
import { quoteOf } from '../../billing/spending/quote.ts'
import { walletOf, placeHolds } from '../../billing/spending/spend.ts'
import type { StoreResponses, ResponseToStore } from '../../http/call.ts'
import type { VideoModel } from '../../models/model.ts'
import { batch, fulfilled, rejected, splitOnLockTimeout } from '../../platform/batch.ts'
import { CommitOutcomeUnknown, isDatabaseUnavailable, isLockTimeout } from '../../platform/postgres-errors.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { secondsFor } from '../../routing/choose-route.ts'
import type { Route, Router } from '../../routing/route.ts'
import { insertStoredFiles, lockSources, type StoredFile } from '../../storage/stored-file-store.ts'
import type { StoredImage } from '../images/stored-image.ts'
import { pricedWorkOf } from '../priced-work.ts'
import { charactersMax, type NamedCharacters, type RequestedCharacter } from '../requested-character.ts'
import { requestedSound } from '../requested-sound.ts'
import { shardOf } from '../shard.ts'
import { createModelTaskId, createRemixTaskId, createUuidTaskId } from '../task-id.ts'
import { findTasks, insertTasks, type NewTask } from '../task-store.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { requirementsOf } from '../video-requirements.ts'
import { createQueueLength } from './queue-length.ts'
import type { QueueLimits } from './queue-limits.ts'
import type { QueueOverload } from './queue-overload.ts'

/** An order with validated parameters, as an endpoint passes it on. */
interface Admission {
  caller: Caller
  model: VideoModel
  createdVia: VideoTask['createdVia']
  order: VideoOrder
  /** The reference images first, then the reference video and audio. */
  images: StoredImage[]
  /** Created from a video of this order; the prompt need not name it. */
  character?: RequestedCharacter | undefined
  /** The provider that must make the video, whichever providers serve the model now. */
  pinnedTo?: string | undefined
  /** Writes in the transaction of the admission. */
  alongside?: ((database: Database, task: VideoTask) => Promise<void>) | undefined
  /** The response to store for idempotent replays. */
  responseToStore?: (task: VideoTask) => ResponseToStore | undefined
}

export interface AdmitVideo {
  (admission: Admission): Promise<VideoTask>
  /** The refusal if no route of the model can start a task of this account in time; for checks before expensive steps. */
  overloadOf: (model: VideoModel, accountId: string) => ApiError | undefined
  /** The price, and whether the order would be accepted. */
  quote: (admission: Admission) => Promise<Quote>
}

export interface AdmissionDependencies {
  postgres: Postgres
  router: Router
  prices: PriceList
  deadlineMs: number
  queueLimits: () => QueueLimits
  queueOverload: QueueOverload
  wakeDispatcher: (provider: string) => void
  /** Counts a create of an account that waits for its commit, until the returned function is called. */
  countWaiting: (accountId: string) => () => void
  /** The account's characters that a prompt names. */
  namedCharacters: NamedCharacters
  storeResponses: StoreResponses
}

/** Adds the characters of the video to the order: the one created from it and those that its prompt names. */
const withCharacters = async (admission: Admission, namedCharacters: NamedCharacters): Promise<Admission> => {
  const { caller, model, order, character } = admission
  if (model.family !== 'B') return admission
  const named = await namedCharacters(caller.accountId, order.prompt)
  // A retried order already has the characters found before.
  const all = [...(character === undefined ? [] : [character]), ...(order.characters ?? []), ...named]
  const characters = [...new Map(all.map(({ id, username }) => [id, { id, username }])).values()]
  if (characters.length === 0) return admission
  return { ...admission, order: { ...order, characters: characters.slice(0, charactersMax) } }
}

const idOf = ({ model, createdVia }: Admission, nowMs: number): string => {
  if (createdVia === 'remix') return createRemixTaskId(model.id, nowMs)
  if (createdVia === 'videos' && model.family === 'A') return createUuidTaskId(nowMs)
  return createModelTaskId(model.id, nowMs)
}

/** The length that is made and charged: the requested one, or the next longer one that a route of the model supports. */
const fittingSeconds = ({ router }: AdmissionDependencies, { model, order, pinnedTo }: Admission): number => {
  if (pinnedTo !== undefined) return order.seconds
  const routes = router.routesOf(model.id)
  const seconds = secondsFor(routes, order.seconds)
  if (seconds !== undefined) return seconds
  const longest = Math.max(...routes.flatMap((route) => route.seconds ?? []))
  throw new ApiError('invalid_parameter', {
    param: 'seconds',
    message: `'${model.id}' makes videos of up to ${longest} seconds (got ${order.seconds}).`,
  })
}

/** Chooses the route. A route where the task would wait too long is only chosen, and then refused, if there is no other. */
const chooseRoute = (
  { router, queueOverload }: AdmissionDependencies,
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
        message: `No provider of '${model.id}' makes videos of ${order.seconds} seconds at ${order.width}x${order.height}${order.sound === false ? ' without sound' : ''}. Use another size or length${order.sound === false ? ', or sound' : ''}.`,
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

/** The task of an admission, and why it must be refused before anything is written, if so. */
const newTask = (
  admission: Admission,
  dependencies: AdmissionDependencies,
): { task: NewTask; refusal: ApiError | undefined } => {
  const { prices, deadlineMs } = dependencies
  const { caller, model, createdVia } = admission
  const order = {
    ...admission.order,
    seconds: fittingSeconds(dependencies, admission),
    ...referencesOf(admission),
    ...requestedSound(model, admission.order.sound),
  }
  const nowMs = Date.now()
  // The time of the database replaces it later, and is the base of the deadline. The day stays, because the id contains it.
  const createdAt = new Date(nowMs)
  const id = idOf(admission, nowMs)
  const { route, decision, refusal } = chooseRoute(dependencies, admission, order)
  const { provider } = route
  const lines = prices.pricesOf(model)(pricedWorkOf(order))
  const task: NewTask = {
    id,
    day: createdAt.toISOString().slice(0, 10),
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: model.id,
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
    deadlineMs,
  }
  return { task, refusal }
}

const referenceFiles = (task: NewTask, images: StoredImage[]): StoredFile[] =>
  images.map((image) => ({
    ...image,
    accountId: task.accountId,
    taskId: task.id,
    kind: 'reference',
    width: null,
    height: null,
    durationMs: null,
    expiresAt: null,
  }))

/** The order in the parameter names of the API. */
const parametersOf = (order: VideoOrder) => ({
  prompt: order.prompt,
  seconds: order.seconds,
  size: order.size,
  width: order.width,
  height: order.height,
  watermark: order.watermark,
  private: order.isPrivate,
  sound: order.sound,
  ...(order.imageRoles !== undefined && { image_roles: order.imageRoles }),
  ...(order.style !== undefined && { style: order.style }),
  ...(order.metadata !== undefined && { metadata: order.metadata }),
  ...(order.enhance !== undefined && { enhance_prompt: order.enhance }),
  ...(order.remixOf !== undefined && { remix_of: order.remixOf.taskId }),
  ...(order.characters !== undefined && { characters: order.characters.map(({ username }) => username) }),
})

type Candidate = { task: NewTask; admission: Admission }

/** Refuses remixes whose source is gone. The locks protect the other sources until the tasks that use them are committed. */
const refuseMissingSources = async (database: Database, tasks: NewTask[]): Promise<Map<string, ApiError>> => {
  const remixes = tasks.flatMap(({ id, order: { remixOf } }) =>
    remixOf === undefined ? [] : { id, remixOf },
  )
  const sources = await lockSources(
    database,
    remixes.map(({ remixOf }) => remixOf.mediaId),
  )
  return new Map(
    remixes.flatMap(({ id, remixOf }): [string, ApiError][] => {
      const source = sources.get(remixOf.mediaId)
      if (source?.isAvailable === true) return []
      return [[id, new ApiError(source === undefined ? 'task_not_found' : 'media_expired')]]
    }),
  )
}

/** Writes the tasks whose holds could be placed, and adds the other refusals. The time of the holds is the creation time. */
const admitFunded = async (
  database: Database,
  candidates: Candidate[],
  refusals: Map<string, ApiError>,
): Promise<Candidate[]> => {
  const placed = await placeHolds(
    database,
    candidates.map(({ task, admission }) => ({
      caller: admission.caller,
      taskId: task.id,
      day: task.day,
      amountMicros: task.holdMicros,
    })),
  )
  const createdAt = new Date(placed.atMs)
  const accepted = candidates.flatMap(({ task, admission }, index) => {
    const refusal = placed.refusals[index]
    if (refusal === undefined) return { admission, task: { ...task, createdAt, statusUpdatedAt: createdAt } }
    refusals.set(task.id, refusal)
    return []
  })
  await insertTasks(
    database,
    accepted.map(({ task }) => task),
    placed.at,
  )
  return accepted
}

const admitTogether = async (
  database: Database,
  candidates: Candidate[],
  refuseFullQueues: ReturnType<typeof createQueueLength>,
  storeResponses: StoreResponses,
) => {
  const tasks = candidates.map(({ task }) => task)
  const refusals = new Map([
    ...(await refuseFullQueues(database, tasks)),
    ...(await refuseMissingSources(database, tasks)),
  ])
  const remaining = candidates.filter(({ task }) => !refusals.has(task.id))
  const accepted = remaining.length === 0 ? [] : await admitFunded(database, remaining, refusals)
  await insertStoredFiles(
    database,
    accepted.flatMap(({ task, admission }) => referenceFiles(task, admission.images)),
  )
  for (const { task, admission } of accepted) {
    await admission.character?.record?.(database, task.id)
    await admission.alongside?.(database, task)
  }
  await storeResponses(
    database,
    accepted.flatMap(({ task, admission }) => admission.responseToStore?.(task) ?? []),
  )
  const admitted = new Map(accepted.map(({ task }) => [task.id, task]))
  return candidates.map(({ task: { id } }) => {
    const task = admitted.get(id)
    return task === undefined ? rejected(refusals.get(id)) : fulfilled<VideoTask>(task)
  })
}

export const createAdmitVideo = (dependencies: AdmissionDependencies): AdmitVideo => {
  const { postgres, router, queueOverload, queueLimits } = dependencies
  const { wakeDispatcher, namedCharacters, countWaiting, storeResponses } = dependencies
  const refuseFullQueues = createQueueLength(queueLimits)
  const together = async (
    candidates: Candidate[],
    options?: { lockTimeoutMsMax: number },
  ): Promise<PromiseSettledResult<VideoTask>[]> => {
    try {
      return await postgres.transaction(
        (database) => admitTogether(database, candidates, refuseFullQueues, storeResponses),
        options,
      )
    } catch (error) {
      if (isDatabaseUnavailable(error) || isLockTimeout(error)) throw error
      // The transaction may have been committed although it failed here. Tasks that exist are not admitted again.
      const existing = await findTasks(
        postgres,
        candidates.map(({ task }) => task),
        1,
      ).catch(() => {
        // Report the failed commit, not the failed lookup.
        throw error
      })
      // It may still be committed, which another attempt would hide. If one task exists, all that were accepted do.
      const isUnknown = error instanceof CommitOutcomeUnknown && existing.size === 0
      return await Promise.all(
        candidates.map(async (candidate) => {
          const { id, accountId } = candidate.task
          const task = existing.get(`${accountId}/${id}`)
          if (task !== undefined) return fulfilled(task)
          if (isUnknown || candidates.length === 1) return rejected(error)
          // One order that the database refuses must not fail the others.
          const [result] = await together([candidate]).catch((each: unknown) => [rejected(each)])
          return result ?? rejected(error)
        }),
      )
    }
  }
  const accountOf = ({ task }: Candidate) => task.accountId
  const admit = batch(splitOnLockTimeout(together, accountOf, { failsFast: true }), {
    inFlightMax: 4,
    sizeMax: 200,
    lockOf: accountOf,
  })
  const admitVideo: AdmitVideo = async (given) => {
    const leave = countWaiting(given.caller.accountId)
    try {
      const admission = await withCharacters(given, namedCharacters)
      const { task: wanted, refusal } = newTask(admission, dependencies)
      if (refusal !== undefined) throw refusal
      const task = await admit({ task: wanted, admission })
      queueOverload.add(task.provider, task.model, task.accountId, task.keyId, task.order.seconds)
      wakeDispatcher(task.provider)
      return task
    } finally {
      leave()
    }
  }
  admitVideo.overloadOf = (model, accountId) => {
    const refusals = router
      .routesOf(model.id, 'video')
      .map((route) => queueOverload.refusalAt(route, model.id, accountId))
    return refusals.includes(undefined) ? undefined : refusals[0]
  }
  admitVideo.quote = async (given) => {
    const admission = await withCharacters(given, namedCharacters)
    const { caller, model } = admission
    const { task, refusal } = newTask(admission, dependencies)
    const order = { caller, model: model.id, heldFor: task.prices, parameters: parametersOf(task.order) }
    // A separate counter, because a quote must not count as a waiting task.
    const countQueue = createQueueLength(queueLimits)
    return quoteOf(
      postgres,
      order,
      async (database) => refusal ?? (await countQueue(database, [task])).get(task.id),
    )
  }
  return admitVideo
}

import { ApiError } from '@kinora/contract/errors'
/**
 * The one admission that every door leads to: price, hold, task and outbox in one transaction. Creates
 * that come at the same time share a commit. The answer goes out after the commit; the engine is only
 * nudged, so a create succeeds whether the engine is up or not.
 */
import type { Quote } from '@kinora/contract/operations/account'

import type { Caller } from '../../auth/caller.ts'
import type { PriceList } from '../../billing/prices/price-list.ts'
import { quoteOf } from '../../billing/spending/quote.ts'
import { walletOf, placeHolds } from '../../billing/spending/spend.ts'
import type { StoreResponses, ResponseToStore } from '../../http/call.ts'
import type { VideoModel } from '../../models/model.ts'
import { batch, fulfilled, rejected } from '../../platform/batch.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { secondsFor } from '../../routing/choose-route.ts'
import type { Router } from '../../routing/route.ts'
import { insertStoredFiles, lockSources, type StoredFile } from '../../storage/stored-file-store.ts'
import type { StoredImage } from '../images/reference-image.ts'
import { charactersMax, type NamedCharacters, type RequestedCharacter } from '../requested-character.ts'
import { shardOf } from '../shard.ts'
import { createModelTaskId, createRemixTaskId, createUuidTaskId } from '../task-id.ts'
import { findTasks, insertTasks, type NewTask } from '../task-store.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { requirementsOf } from '../video-requirements.ts'
import { createQueueLength } from './queue-length.ts'
import type { QueueLimits } from './queue-limits.ts'

/** What a door hands over: an order whose every parameter has been checked. */
interface Admission {
  caller: Caller
  model: VideoModel
  createdVia: VideoTask['createdVia']
  order: VideoOrder
  images: StoredImage[]
  /** Made of a video that came with this order; the prompt need not name it. */
  character?: RequestedCharacter | undefined
  /** The provider that must make it, whoever serves the model now. */
  pinnedTo?: string | undefined
  /** Written in the admission's own transaction, with the task or not at all. */
  alongside?: ((database: Database, task: VideoTask) => Promise<void>) | undefined
  /** The reply that tells of the task, where a repeat of the request is to be answered with it. */
  responseToStore?: (task: VideoTask) => ResponseToStore | undefined
}

export interface AdmitVideo {
  (admission: Admission): Promise<VideoTask>
  /** What it would cost, and whether it would be accepted. */
  quote: (admission: Admission) => Promise<Quote>
}

export interface AcceptDependencies {
  postgres: Postgres
  router: Router
  prices: PriceList
  deadlineMs: number
  queueLimits: () => QueueLimits
  wakeDispatcher: (provider: string) => void
  /** The account's characters that a prompt names. */
  namedCharacters: NamedCharacters
  storeResponses: StoreResponses
}

/** The same order with the characters it shows: the one that came with it, and those its prompt names. */
const withCharacters = async (admission: Admission, namedCharacters: NamedCharacters): Promise<Admission> => {
  const { caller, model, order, character } = admission
  if (model.family !== 'B') return admission
  const named = await namedCharacters(caller.accountId, order.prompt)
  // An order that is repeated has those it had found before.
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

/** The length that is made and charged: what was asked for, or the next that any route of the model can make. */
const fittingSeconds = ({ router }: AcceptDependencies, { model, order, pinnedTo }: Admission): number => {
  if (pinnedTo !== undefined) return order.seconds
  const routes = router.routesOf(model.id)
  const seconds = secondsFor(routes, order.seconds)
  if (seconds !== undefined) return seconds
  const longest = Math.max(...routes.flatMap((route) => route.seconds ?? []))
  throw new ApiError('invalid_parameter', {
    param: 'seconds',
    message: `'${model.id}' makes videos of up to ${longest} seconds, not ${order.seconds}.`,
  })
}

const chooseRoute = ({ router }: AcceptDependencies, { model, pinnedTo }: Admission, order: VideoOrder) => {
  const chosen = router.choose(model.id, requirementsOf(order, pinnedTo))
  if (chosen !== undefined) return chosen
  const canMakeOther = router.routesOf(model.id).some(({ provider }) => provider.video !== undefined)
  throw canMakeOther
    ? new ApiError('invalid_parameter', {
        param: 'size',
        message: `No provider of '${model.id}' makes ${order.seconds} seconds of ${order.width}x${order.height}.`,
      })
    : new ApiError('service_unavailable', { detail: `no provider is set up that makes ${model.id}` })
}

const newTask = (admission: Admission, dependencies: AcceptDependencies): NewTask => {
  const { prices, deadlineMs } = dependencies
  const { caller, model, createdVia, images } = admission
  const order = {
    ...admission.order,
    seconds: fittingSeconds(dependencies, admission),
    ...(images.length > 0 && { images: images.length }),
  }
  const nowMs = Date.now()
  // Until the database says when it was; the day is the id's, whatever that says.
  const createdAt = new Date(nowMs)
  const id = idOf(admission, nowMs)
  const { route, decision } = chooseRoute(dependencies, admission, order)
  const { provider } = route
  const price = prices.priceOfVideo(model, order)
  return {
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
    price,
    holdMicros: price.totalMicros,
    createdAt,
    statusUpdatedAt: createdAt,
    mediaId: null,
    mediaExpiresAt: null,
    errorCode: null,
    errorMessage: null,
    shard: shardOf(id, provider.shards),
    decision,
    deadlineAt: new Date(nowMs + deadlineMs),
  }
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

/** The order in the caller's words. */
const parametersOf = (order: VideoOrder) => ({
  prompt: order.prompt,
  seconds: order.seconds,
  size: order.size,
  width: order.width,
  height: order.height,
  watermark: order.watermark,
  private: order.isPrivate,
  ...(order.style !== undefined && { style: order.style }),
  ...(order.metadata !== undefined && { metadata: order.metadata }),
  ...(order.enhance !== undefined && { enhance_prompt: order.enhance }),
  ...(order.remixOf !== undefined && { remix_of: order.remixOf.taskId }),
  ...(order.characters !== undefined && { characters: order.characters.map(({ username }) => username) }),
})

type Candidate = { task: NewTask; admission: Admission }

/** Refuses remixes whose source is gone. What is left stays until this transaction has ended, and then is in use. */
const refuseLostSources = async (database: Database, tasks: NewTask[]): Promise<Map<string, ApiError>> => {
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

/** Writes those that can be paid for, and notes why the others cannot. They were created when their holds were placed. */
const admitFitting = async (
  database: Database,
  fitting: Candidate[],
  refusals: Map<string, ApiError>,
): Promise<Candidate[]> => {
  const placed = await placeHolds(
    database,
    fitting.map(({ task, admission }) => ({
      caller: admission.caller,
      taskId: task.id,
      day: task.day,
      amountMicros: task.holdMicros,
    })),
  )
  const createdAt = new Date(placed.atMs)
  const accepted = fitting.flatMap(({ task, admission }, index) => {
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
    ...(await refuseLostSources(database, tasks)),
  ])
  const fitting = candidates.filter(({ task }) => !refusals.has(task.id))
  const accepted = fitting.length === 0 ? [] : await admitFitting(database, fitting, refusals)
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

export const createAdmitVideo = (dependencies: AcceptDependencies): AdmitVideo => {
  const { postgres, wakeDispatcher, namedCharacters, queueLimits, storeResponses } = dependencies
  const refuseFullQueues = createQueueLength(queueLimits)
  const together = async (candidates: Candidate[]): Promise<PromiseSettledResult<VideoTask>[]> => {
    try {
      return await postgres.transaction((database) =>
        admitTogether(database, candidates, refuseFullQueues, storeResponses),
      )
    } catch (error) {
      // A commit that was never heard of may have been one: what stands is not admitted again.
      const standing = await findTasks(
        postgres,
        candidates.map(({ task }) => task),
        1,
      ).catch(() => {
        // Whoever sent the orders must hear of the commit, and not of a look-up that failed after it.
        throw error
      })
      const alone = await Promise.all(
        candidates.map(async (candidate) => {
          const { id, accountId } = candidate.task
          const task = standing.get(`${accountId}/${id}`)
          if (task !== undefined) return fulfilled(task)
          if (candidates.length === 1) throw error
          // One order the database will not take must not take the others down with it.
          const [result] = await together([candidate]).catch((each: unknown) => [rejected(each)])
          return result ?? rejected(error)
        }),
      )
      return alone
    }
  }
  const admit = batch(together, { inFlightMax: 2, sizeMax: 200 })
  const admitVideo: AdmitVideo = async (given) => {
    const admission = await withCharacters(given, namedCharacters)
    const task = await admit({ task: newTask(admission, dependencies), admission })
    wakeDispatcher(task.provider)
    return task
  }
  admitVideo.quote = async (given) => {
    const admission = await withCharacters(given, namedCharacters)
    const { caller, model } = admission
    const task = newTask(admission, dependencies)
    const order = { caller, model: model.id, heldFor: [task.price], parameters: parametersOf(task.order) }
    // One that has counted nothing yet: a quote must not make the line look longer.
    const countQueue = createQueueLength(queueLimits)
    return quoteOf(postgres, order, async (database) => (await countQueue(database, [task])).get(task.id))
  }
  return admitVideo
}

/**
 * The admission that every endpoint uses: price, hold, task and queue entry in one transaction. Concurrent creates share a
 * commit. The response is sent after the commit; the engine only gets a wake-up, so a create succeeds even if the engine
 * is down.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'

import { quoteOf } from '../../billing/spending/quote.ts'
import { placeHolds } from '../../billing/spending/spend.ts'
import type { StoreResponses } from '../../http/call.ts'
import type { VideoModel } from '../../models/model.ts'
import { batch, fulfilled, rejected, splitOnLockTimeout } from '../../platform/batch.ts'
import { count } from '../../platform/metrics/metrics.ts'
import { CommitOutcomeUnknown, isDatabaseUnavailable, isLockTimeout } from '../../platform/postgres-errors.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { insertStoredFiles, lockSources, type StoredFile } from '../../storage/stored-file-store.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'
import type { TaskWebhook } from '../../tasks/task.ts'
import type { StoredImage } from '../images/stored-image.ts'
import { charactersMax, type NamedCharacters } from '../requested-character.ts'
import { findTasks, insertTasks, type NewTask } from '../task-store.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { newCandidate, type Admission, type Candidate, type CandidateDependencies } from './candidate.ts'
import { createQueueLength } from './queue-length.ts'
import type { QueueLimits } from './queue-limits.ts'

export interface AdmitVideo {
  (admission: Admission): Promise<VideoTask>
  /** The refusal if no route of the model can start a task of this account in time; for checks before expensive steps. */
  overloadOf: (model: VideoModel, accountId: string) => ApiError | undefined
  /** The price, and whether the order would be accepted. */
  quote: (admission: Admission) => Promise<Quote>
}

export interface AdmissionDependencies extends CandidateDependencies {
  postgres: Postgres
  queueLimits: () => QueueLimits
  wakeDispatcher: (provider: string) => void
  /** Counts a create of an account that waits for its commit, until the returned function is called. */
  countWaiting: (accountId: string) => () => void
  /** The account's characters that a prompt names. */
  namedCharacters: NamedCharacters
  assignWebhooks: TaskWebhooks['assign']
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

/** The webhooks of the tasks that name one, by their ids. Adds refusals. */
const findWebhooks = async (
  database: Database,
  candidates: Candidate[],
  refusals: Map<string, ApiError>,
  assignWebhooks: TaskWebhooks['assign'],
): Promise<Map<string, TaskWebhook>> => {
  const wanted = candidates.flatMap(({ task: { id, accountId }, admission: { webhook } }) =>
    webhook === undefined ? [] : { id, accountId, webhook },
  )
  const found = await assignWebhooks(database, wanted)
  const webhooks = new Map<string, TaskWebhook>()
  for (const [index, { id }] of wanted.entries()) {
    const webhook = found[index]
    if (webhook instanceof ApiError) refusals.set(id, webhook)
    else if (webhook !== undefined) webhooks.set(id, webhook)
  }
  return webhooks
}

interface Accepted {
  admission: Admission
  candidateId: string
  task: NewTask
}

/** Writes the tasks whose holds could be placed, and adds the other refusals. The time of the holds is the creation time. */
const admitFunded = async (
  database: Database,
  candidates: Candidate[],
  webhooks: Map<string, TaskWebhook>,
  refusals: Map<string, ApiError>,
): Promise<Accepted[]> => {
  const placed = await placeHolds(
    database,
    candidates.map(({ task, taskAt, admission }) => ({
      caller: admission.caller,
      taskAt,
      amountMicros: task.holdMicros,
    })),
  )
  const accepted = candidates.flatMap(({ task, taskAt, admission }, index): Accepted[] => {
    const refusal = placed.refusals[index]
    if (refusal === undefined) {
      const accepted = { ...taskAt(placed.atMs), webhook: webhooks.get(task.id) }
      return [{ admission, candidateId: task.id, task: accepted }]
    }
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
  { assignWebhooks, storeResponses }: Pick<AdmissionDependencies, 'assignWebhooks' | 'storeResponses'>,
  /** Gets the tasks of this attempt before they are committed, by the id of the candidate. */
  written: Map<string, NewTask>,
) => {
  const tasks = candidates.map(({ task }) => task)
  const refusals = new Map([
    ...(await refuseFullQueues(database, tasks)),
    ...(await refuseMissingSources(database, tasks)),
  ])
  const remaining = () => candidates.filter(({ task }) => !refusals.has(task.id))
  // Before the holds: these locks come before those of wallets everywhere.
  const webhooks = await findWebhooks(database, remaining(), refusals, assignWebhooks)
  const funded = remaining()
  const accepted = funded.length === 0 ? [] : await admitFunded(database, funded, webhooks, refusals)
  for (const { candidateId, task } of accepted) written.set(candidateId, task)
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
  return candidates.map(({ task: { id } }) => {
    const task = written.get(id)
    return task === undefined ? rejected(refusals.get(id)) : fulfilled<VideoTask>(task)
  })
}

export const createAdmitVideo = (dependencies: AdmissionDependencies): AdmitVideo => {
  const { postgres, router, queueOverload, queueLimits } = dependencies
  const { wakeDispatcher, namedCharacters, countWaiting } = dependencies
  const refuseFullQueues = createQueueLength(queueLimits)
  const together = async (
    candidates: Candidate[],
    options?: { lockTimeoutMsMax: number },
  ): Promise<PromiseSettledResult<VideoTask>[]> => {
    const written = new Map<string, NewTask>()
    try {
      return await postgres.transaction((database) => {
        written.clear()
        return admitTogether(database, candidates, refuseFullQueues, dependencies, written)
      }, options)
    } catch (error) {
      if (isDatabaseUnavailable(error) || isLockTimeout(error)) throw error
      // The transaction may have been committed although it failed here. Tasks that exist are not admitted again.
      const existing = await findTasks(postgres, [...written.values()], 1).catch(() => {
        // Report the failed commit, not the failed lookup.
        throw error
      })
      // It may still be committed, which another attempt would hide. If one task exists, all that were accepted do.
      const isUnknown = error instanceof CommitOutcomeUnknown && existing.size === 0
      return await Promise.all(
        candidates.map(async (candidate) => {
          const asWritten = written.get(candidate.task.id)
          const task = asWritten && existing.get(`${asWritten.accountId}/${asWritten.id}`)
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
    name: 'create',
    inFlightMax: 4,
    sizeMax: 200,
    lockOf: accountOf,
  })
  const admitVideo: AdmitVideo = async (given) => {
    const leave = countWaiting(given.caller.accountId)
    try {
      const admission = await withCharacters(given, namedCharacters)
      const { refusal, ...candidate } = newCandidate(admission, dependencies)
      if (refusal !== undefined) throw refusal
      const task = await admit(candidate)
      count('kinora.tasks.accepted', { kind: 'video', model: task.model })
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
    const { task, refusal } = newCandidate(admission, dependencies)
    const order = { caller, model: model.name, heldFor: task.prices, parameters: parametersOf(task.order) }
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

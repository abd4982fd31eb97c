/**
 * Creates a new task from the order of a failed one, with the same key, through normal admission, and at current prices.
 * It fails if the key could not create the task itself.
 */
import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../../auth/caller.ts'
import { callerOf } from '../../auth/identify.ts'
import { findKeyById } from '../../auth/key-store.ts'
import type { Catalog } from '../../models/catalog.ts'
import { chooseModelOfTask } from '../../models/choose-model.ts'
import type { Database } from '../../platform/postgres.ts'
import type { ReadTask } from '../../videos/api/read-task.ts'
import { mediaIdOf } from '../../videos/api/source-task.ts'
import type { AdmitVideo } from '../../videos/queue/admit-video.ts'
import { findTask } from '../../videos/task-store.ts'
import type { VideoOrder, VideoTask } from '../../videos/task.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentTask } from './present-task.ts'
import { readAnyTask } from './read-any-task.ts'

export interface RetryDependencies {
  database: Database
  catalog: Catalog
  admitVideo: AdmitVideo
  readTask: ReadTask
  /** The ids of these characters that still exist. */
  charactersLeft: (ids: string[]) => Promise<Set<string>>
}

const conflict = (message: string, cause?: unknown) => new ApiError('conflict', { message, cause })

/** The caller that created the task, with its current limits. */
const callerOfTask = async (database: Database, { keyId }: VideoTask, currency: string): Promise<Caller> => {
  const key = await findKeyById(database, keyId)
  if (key === undefined) throw conflict('The key that created this task was deleted.')
  try {
    return callerOf(key, currency)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'account_suspended') throw error
    throw conflict('The key that created this task is disabled or has expired.', error)
  }
}

/** The original order, if its images, characters, and source still exist. */
const orderOf = async (
  { charactersLeft, readTask }: RetryDependencies,
  { id, accountId, order }: VideoTask,
): Promise<VideoOrder> => {
  const { isEnhanced: _, images = 0, characters = [], remixOf, ...given } = order
  if (images > 0 || given.hasReferenceVideo === true || given.hasReferenceAudio === true) {
    throw conflict('The reference files of this task were removed when it ended.')
  }
  const left = await charactersLeft(characters.map((character) => character.id))
  if (characters.some((character) => !left.has(character.id))) {
    throw conflict('A character of this task was deleted.')
  }
  if (remixOf !== undefined) {
    try {
      mediaIdOf(await readTask(remixOf.taskId, accountId, { isFresh: true }))
    } catch (error) {
      throw error instanceof ApiError
        ? conflict('The source video of this remix no longer exists.', error)
        : error
    }
  }
  return {
    ...given,
    ...(characters.length > 0 && { characters }),
    ...(remixOf !== undefined && { remixOf }),
    retriedFrom: id,
  }
}

export const retryTask =
  (dependencies: RetryDependencies): AdminHandler<typeof adminOperations.retryTask> =>
  async (call) => {
    const { database, catalog, admitVideo } = dependencies
    const { id, day, kind, state } = await readAnyTask(database, call.path.id)
    if (state !== 'failed') {
      throw new ApiError('task_not_failed', {
        message: `This task is ${state}. Only failed tasks can be retried.`,
      })
    }
    if (kind === 'transcription') throw conflict('The recording of this task was removed when it ended.')
    const task = await findTask(database, day, id)
    if (task === undefined) throw new ApiError('task_not_found')
    const caller = await callerOfTask(database, task, call.operator.currency)
    const model = chooseModelOfTask(catalog, caller, task)
    if (model.kind !== 'video') throw new ApiError('model_not_found', { param: 'model' })
    const order = await orderOf(dependencies, task)
    const ordered = await admitVideo({
      caller,
      model,
      createdVia: task.createdVia,
      order,
      images: [],
      ...(order.remixOf !== undefined && { pinnedTo: task.provider }),
      alongside: (within, { id: orderedId }) =>
        call.audit(within, { action: 'retryTask', target: id, after: { id: orderedId } }),
    })
    return { body: presentTask(await readAnyTask(database, ordered.id), call.operator.currency) }
  }

/**
 * Orders again what a failed task was to make: the same order of the same key, through the same admission, at the price
 * of today. What the key could not order itself now, nobody orders for it.
 */
import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import { callerOf } from '../../auth/authenticate.ts'
import type { Caller } from '../../auth/caller.ts'
import { findKeyById } from '../../auth/key-store.ts'
import type { Handler } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import { chooseModel } from '../../models/choose-model.ts'
import type { Database } from '../../platform/postgres.ts'
import type { ReadTask } from '../../videos/api/read-task.ts'
import { mediaIdOf } from '../../videos/api/source-task.ts'
import type { AdmitVideo } from '../../videos/queue/admit-video.ts'
import { findTask } from '../../videos/task-store.ts'
import type { VideoOrder, VideoTask } from '../../videos/task.ts'
import { audited } from '../audit-log/audit.ts'
import { presentTask } from './present-task.ts'
import { readAnyTask } from './read-any-task.ts'

export interface RetryDependencies {
  database: Database
  catalog: Catalog
  admitVideo: AdmitVideo
  readTask: ReadTask
  /** Which of these characters are still there. */
  charactersLeft: (ids: string[]) => Promise<Set<string>>
}

const conflict = (message: string, cause?: unknown) => new ApiError('conflict', { message, cause })

/** Whoever ordered it, as they stand now. */
const callerOfTask = async (database: Database, { keyId }: VideoTask, currency: string): Promise<Caller> => {
  const key = await findKeyById(database, keyId)
  if (key === undefined) throw conflict('The key that ordered this task was deleted.')
  try {
    return callerOf(key, currency)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'account_suspended') throw error
    throw conflict('The key that ordered this task is disabled or has expired.', error)
  }
}

/** The order as it was given, if what came with it is still there. */
const orderOf = async (
  { charactersLeft, readTask }: RetryDependencies,
  { id, accountId, order }: VideoTask,
): Promise<VideoOrder> => {
  const { isEnhanced: _, images = 0, characters = [], remixOf, ...given } = order
  if (images > 0) throw conflict('The pictures of this order were removed when its task ended.')
  const left = await charactersLeft(characters.map((character) => character.id))
  if (characters.some((character) => !left.has(character.id))) {
    throw conflict('A character of this order is gone.')
  }
  if (remixOf !== undefined) {
    try {
      mediaIdOf(await readTask(remixOf.taskId, accountId, { isFresh: true }))
    } catch (error) {
      throw error instanceof ApiError ? conflict('The video this was to be made from is gone.', error) : error
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
  (dependencies: RetryDependencies): Handler<typeof adminOperations.retryTask> =>
  async (call) => {
    const { database, catalog, admitVideo } = dependencies
    const { id, day, kind, state } = await readAnyTask(database, call.path.id)
    if (state !== 'failed') throw new ApiError('task_not_failed')
    if (kind === 'transcription') throw conflict('The recording of this task was removed when it ended.')
    const task = await findTask(database, day, id)
    if (task === undefined) throw new ApiError('task_not_found')
    const caller = await callerOfTask(database, task, call.operator.currency)
    const model = chooseModel(catalog, caller, task.model)
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
        audited(within, call, { action: 'retryTask', target: id, after: { id: orderedId } }),
    })
    return { body: presentTask(await readAnyTask(database, ordered.id), call.operator.currency) }
  }

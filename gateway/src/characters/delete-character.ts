import type { operations } from '@kinora/contract/operations'

import { recordAccountEvent } from '../events/account-event-store.ts'
import type { Handler } from '../http/call.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import { removeFiles, type RemovalDependencies } from '../storage/removal/remove-files.ts'
import { deleteStoredCharacter, findCharacter } from './character-store.ts'
import { characterNotFound, idOfPublic, publicIdOf } from './character.ts'

/** Deletes a character and records the event. */
const deleteWithEvent = async (database: Database, accountId: string, id: string) => {
  const character = await findCharacter(database, accountId, id)
  const removals = await deleteStoredCharacter(database, accountId, id)
  if (character === undefined || removals === undefined) return undefined
  const objectId = publicIdOf(id)
  await recordAccountEvent(database, {
    ...{ accountId, type: 'character.deleted', objectId },
    data: { id: objectId, object: 'character', deleted: true },
  })
  return removals
}

/** Removes the clip and the portrait at once, because the person they show may have withdrawn consent. */
export const deleteCharacter =
  ({
    postgres,
    mediaStore,
    log,
  }: RemovalDependencies & { postgres: Postgres }): Handler<typeof operations.deleteCharacter> =>
  async ({ path, caller }) => {
    const id = idOfPublic(path.id)
    const removals =
      id === undefined
        ? undefined
        : await postgres.transaction((database) => deleteWithEvent(database, caller.accountId, id))
    if (id === undefined || removals === undefined) throw characterNotFound(path.id)
    await removeFiles({ postgres, mediaStore, log }, removals)
    return { body: { id: publicIdOf(id), object: 'character.deleted', deleted: true } }
  }

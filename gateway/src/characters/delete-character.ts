import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { deleteStoredCharacter } from './character-store.ts'
import { idOfPublic, publicIdOf } from './character.ts'

/** Removes the clip and the portrait at once, because the person they show may have withdrawn consent. */
export const deleteCharacter =
  ({
    database,
    mediaStore,
  }: {
    database: Database
    mediaStore: MediaStore
  }): Handler<typeof operations.deleteCharacter> =>
  async ({ path, caller }) => {
    const id = idOfPublic(path.id)
    const keys = id === undefined ? undefined : await deleteStoredCharacter(database, caller.accountId, id)
    if (id === undefined || keys === undefined) throw new ApiError('character_not_found')
    await mediaStore.removeMany(keys)
    return { body: { id: publicIdOf(id), object: 'character.deleted', deleted: true } }
  }

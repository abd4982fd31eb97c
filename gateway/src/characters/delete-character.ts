import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { forgetCharacter } from './character-store.ts'
import { idOfPublic, publicIdOf } from './character.ts'

/** The clip and the portrait go at once, because a likeness may be somebody's who no longer agrees. */
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
    const left = id === undefined ? undefined : await forgetCharacter(database, caller.accountId, id)
    if (id === undefined || left === undefined) throw new ApiError('character_not_found')
    await Promise.all(left.map((key) => mediaStore.remove(key)))
    return { body: { id: publicIdOf(id), object: 'character.deleted', deleted: true } }
  }

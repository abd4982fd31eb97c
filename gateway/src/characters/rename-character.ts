import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { CharacterRename } from '@kinora/contract/operations/characters'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { renameStoredCharacter } from './character-store.ts'
import { characterNotFound, idOfPublic } from './character.ts'
import { presentCharacter, type CharacterLinks } from './present-character.ts'

export const renameCharacter =
  ({
    database,
    ...links
  }: CharacterLinks & { database: Database }): Handler<typeof operations.renameCharacter> =>
  async (call) => {
    const { username } = call.read(CharacterRename)
    const id = idOfPublic(call.path.id)
    const renamed =
      id === undefined
        ? undefined
        : await renameStoredCharacter(database, call.caller.accountId, id, username)
    if (renamed === undefined) throw characterNotFound(call.path.id)
    if (renamed === 'in_use') {
      throw new ApiError('invalid_parameter', {
        param: 'username',
        message: `The username '${username}' is already in use.`,
      })
    }
    return { body: presentCharacter(links, renamed) }
  }

import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { findCharacter } from './character-store.ts'
import { characterNotFound, idOfPublic } from './character.ts'
import { presentCharacter, type CharacterLinks } from './present-character.ts'

export const getCharacter =
  ({
    database,
    ...links
  }: CharacterLinks & { database: Database }): Handler<typeof operations.getCharacter> =>
  async ({ path, caller }) => {
    const id = idOfPublic(path.id)
    const character = id === undefined ? undefined : await findCharacter(database, caller.accountId, id)
    if (character === undefined) throw characterNotFound(path.id)
    return { body: presentCharacter(links, character) }
  }

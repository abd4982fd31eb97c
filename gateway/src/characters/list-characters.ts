import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { listStoredCharacters } from './character-store.ts'
import { idOfPublic, publicIdOf } from './character.ts'
import { presentCharacter, type CharacterLinks } from './present-character.ts'

const unknownAfter = () =>
  new ApiError('invalid_parameter', {
    param: 'after',
    message: `'after' must be the id of one of your characters.`,
  })

export const listCharacters =
  ({
    database,
    ...links
  }: CharacterLinks & { database: Database }): Handler<typeof operations.listCharacters> =>
  async ({ query, caller }) => {
    const given = query.after
    const after = given === undefined ? undefined : idOfPublic(given)
    if (given !== undefined && after === undefined) throw unknownAfter()
    const limit = Number(query.limit)
    const order = query.order === 'asc' ? 'asc' : 'desc'
    const found = await listStoredCharacters(database, caller.accountId, { after, order, limit })
    if (found === undefined) throw unknownAfter()
    const page = found.slice(0, limit)
    const last = page.at(-1)
    return {
      body: {
        object: 'list',
        data: page.map((character) => presentCharacter(links, character)),
        has_more: found.length > limit,
        last_id: last === undefined ? null : publicIdOf(last.id),
      },
    }
  }

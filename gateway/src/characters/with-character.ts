import { CommitOutcomeUnknown } from '../platform/postgres-errors.ts'
import type { WithCharacter } from '../videos/requested-character.ts'
import { insertCharacter } from './character-store.ts'
import type { CharacterMaker } from './make-character.ts'

const params = {
  url: 'character_url',
  fromTask: 'character_from_task',
  timestamps: 'character_timestamps',
}

/**
 * Makes the character that an order contains. A saved character is added to the library and stays there even if the
 * order fails. Any other character is inserted together with the task and removed when the task ends.
 */
export const createWithCharacter = (maker: CharacterMaker): WithCharacter => {
  const withCharacter: WithCharacter = async (call, requested, work) => {
    if (requested === undefined) return work(undefined)
    const { url, fromTask, timestamps, isSaved } = requested
    const request = { accountId: call.caller.accountId, url, fromTask, timestamps, params }
    if (isSaved) return work(await maker.forLibrary(request, call))
    const built = await maker.forOneTask(request, call)
    try {
      return await work({
        id: built.id,
        username: built.username,
        record: async (database, taskId) => {
          const isInserted = await insertCharacter(database, built, taskId)
          if (!isInserted) throw new Error(`the name ${built.username} is in use by now`)
        },
      })
    } catch (error) {
      // If the commit may have succeeded, the files must stay; retention removes them if it did not.
      if (!(error instanceof CommitOutcomeUnknown)) await maker.discard(built)
      throw error
    }
  }
  withCharacter.check = async (call, requested) => {
    if (requested !== undefined)
      await maker.check({ ...requested, accountId: call.caller.accountId, params }, call)
  }
  return withCharacter
}

import { CommitOutcomeUnknown } from '../platform/postgres.ts'
import type { WithCharacter } from '../videos/requested-character.ts'
import { insertCharacter } from './character-store.ts'
import type { CharacterMaker } from './make-character.ts'

const params = {
  url: 'character_url',
  fromTask: 'character_from_task',
  timestamps: 'character_timestamps',
}

/**
 * The character that comes with an order. One that is to be kept goes into the library and stays there, whatever
 * becomes of the order. One for this video alone is noted together with its task, and goes when that ends.
 */
export const createWithCharacter = (maker: CharacterMaker): WithCharacter => {
  const withCharacter: WithCharacter = async (call, wish, work) => {
    if (wish === undefined) return work(undefined)
    const { url, fromTask, timestamps, isSaved } = wish
    const request = { accountId: call.caller.accountId, url, fromTask, timestamps, params }
    if (isSaved) return work(await maker.forLibrary(request, call))
    const built = await maker.forOneTask(request, call)
    try {
      return await work({
        id: built.id,
        username: built.username,
        record: async (database, taskId) => {
          const isNoted = await insertCharacter(database, built, taskId)
          if (!isNoted) throw new Error(`the name ${built.username} was taken meanwhile`)
        },
      })
    } catch (error) {
      // An order that may have been committed needs its files; retention removes them where it was not.
      if (!(error instanceof CommitOutcomeUnknown)) await maker.discard(built)
      throw error
    }
  }
  withCharacter.check = async (call, wish) => {
    // What the caller could not pay for, the quote of the order tells.
    if (wish !== undefined) await maker.check({ ...wish, accountId: call.caller.accountId, params }, call)
  }
  return withCharacter
}

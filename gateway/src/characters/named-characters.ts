import type { Database } from '../platform/postgres.ts'
import type { NamedCharacters } from '../videos/requested-character.ts'
import { findCharactersNamed } from './character-store.ts'
import { mentionsIn } from './character.ts'

/** Finds the account's characters that a prompt mentions, in its order. Other mentions are only words. */
export const createNamedCharacters =
  (database: Database): NamedCharacters =>
  async (accountId, prompt) => {
    const mentions = mentionsIn(prompt)
    if (mentions.length === 0) return []
    const found = await findCharactersNamed(database, accountId, [...new Set(mentions.flat())])
    const byName = new Map(found.map((character) => [character.username, character]))
    const named = mentions.flatMap((meanings) => {
      const meant = meanings.find((name) => byName.has(name))
      return (meant !== undefined && byName.get(meant)) || []
    })
    return [...new Set(named)]
  }

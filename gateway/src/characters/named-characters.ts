import type { Database } from '../platform/postgres.ts'
import type { NamedCharacters } from '../videos/requested-character.ts'
import { findCharactersNamed } from './character-store.ts'
import { mentionsIn } from './character.ts'

/** Finds the account's characters that a prompt mentions, in order. Mentions of unknown names are ignored. */
export const createNamedCharacters =
  (database: Database): NamedCharacters =>
  async (accountId, prompt) => {
    const mentions = mentionsIn(prompt)
    if (mentions.length === 0) return []
    const found = await findCharactersNamed(database, accountId, [...new Set(mentions.flat())])
    const byName = new Map(found.map((character) => [character.username, character]))
    const named = mentions.flatMap((names) => {
      const username = names.find((name) => byName.has(name))
      return (username !== undefined && byName.get(username)) || []
    })
    return [...new Set(named)]
  }

/** Sessions by their tokens, cached for a few seconds. The end of a session is notified to every process. */
import { timingSafeEqual } from 'node:crypto'

import type { Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import { hashKey } from './key-text.ts'
import { findSession, touchSession, type SessionRecord } from './session-store.ts'
import { isSessionToken } from './session-token.ts'

export interface SessionCache {
  /** The session of a token; undefined if there is none or it has ended. With `isUse`, its last use is written. */
  find: (token: string, isUse: boolean) => Promise<SessionRecord | undefined>
  /** The hash that a change of this session is notified by. */
  hashOf: (token: string) => string
  forget: (hash: string) => void
  clear: () => void
}

const cachedSessionsMax = 100_000

export const createSessionCache = (postgres: Postgres, secrets: Secret[], ageMs: number): SessionCache => {
  const cache = new Map<string, { session: Promise<SessionRecord | undefined>; untilMs: number }>()
  const hashesOf = (token: string) => secrets.map((secret) => hashKey(token, secret))
  const hashOf = (token: string) => hashesOf(token)[0]?.toString('hex') ?? ''

  const lookUp = async (hashes: Buffer[], isUse: boolean): Promise<SessionRecord | undefined> => {
    const session = await findSession(postgres, hashes)
    if (session === undefined || !hashes.some((hash) => timingSafeEqual(hash, session.hash))) return undefined
    if (!isUse || !session.isDue) return session
    await touchSession(postgres, session.id)
    return findSession(postgres, hashes)
  }

  return {
    hashOf,
    find: async (token, isUse) => {
      if (!isSessionToken(token)) return undefined
      const hashes = hashesOf(token)
      const id = hashes[0]?.toString('hex') ?? ''
      const found = cache.get(id)
      if (found !== undefined && found.untilMs > performance.now()) return found.session
      if (cache.size >= cachedSessionsMax) cache.clear()
      const startedMs = performance.now()
      const entry = { session: lookUp(hashes, isUse), untilMs: startedMs + ageMs }
      cache.set(id, entry)
      try {
        const session = await entry.session
        if (session !== undefined) entry.untilMs = startedMs + Math.min(ageMs, session.endsInMs)
        return session
      } catch (error) {
        // A failed lookup is not cached.
        cache.delete(id)
        throw error
      }
    },
    // A session that is stored under an older secret is notified by that hash, but cached here under the newest.
    forget: (hash) => {
      if (!cache.delete(hash) && secrets.length > 1) cache.clear()
    },
    clear: () => cache.clear(),
  }
}

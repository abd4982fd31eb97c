import { hash, timingSafeEqual } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'

import type { Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import type { Caller, Operator } from './caller.ts'
import {
  assertKeyText,
  changedKey,
  endedSession,
  keyTextOf,
  sessionTokenOf,
  unknownKey,
  type Credentials,
} from './credentials.ts'
import { assertUsable, callerOf, hasExpired, operatorOf, type SignInKeys } from './identify.ts'
import { assertScope } from './key-scope.ts'
import { findKey, type KeyRecord } from './key-store.ts'
import { hashKey, isKeyText } from './key-text.ts'
import { assertRole } from './operator-role.ts'
import { createSessionCache } from './session-cache.ts'
import type { SessionRecord } from './session-store.ts'
/** The hashes of the keys that a session of the console, or a link, stands for. */
interface SignInHashes {
  keyHash: Buffer | null
  operatorKeyHash: Buffer | null
}

/** Whom a session of the console stands for. A key that is not accepted now is absent. */
export interface SessionHolder {
  session: SessionRecord
  caller: Caller | undefined
  operator: Operator | undefined
}

export interface Authenticate {
  (credentials: Credentials): Promise<Caller>
  /** Authenticates an operator; a customer's key is refused. */
  operator: (credentials: Credentials) => Promise<Operator>
  /** Whom the session of a request stands for; refuses a request without one. */
  session: (credentials: Credentials) => Promise<SessionHolder>
  /** The keys with these secrets, for a session. Refuses those that cannot be used from this address now. */
  signIn: (texts: string[], address: string) => Promise<SignInKeys>
  /** The same for the keys that a link stands for. */
  signInByHashes: (hashes: SignInHashes, address: string) => Promise<SignInKeys>
  /** The account of a key that was used here lately, without a look into the database. It proves nothing. */
  likelyAccount: (credentials: Credentials) => string | undefined
  /**
   * Aborts a waiting call, with the refusal as its reason, as soon as its credentials are no longer accepted. The expiry of
   * a customer's key aborts nothing. `accountId` is absent for an operator. Returns the function that ends the watch.
   */
  watch: (
    credentials: Credentials,
    operation: Operation,
    accountId: string | undefined,
    waiting: AbortController,
  ) => () => void
  /** Clears this process's cache of sessions after the end of one. Other processes are notified by the database. */
  forgetSessions: () => void
  /** Clears this process's cache after a change of a key. Other processes are notified by the database. */
  forget: () => void
  close: () => Promise<void>
}

// A change of a key is notified to every process; the maximum age bounds the effect of a lost notification.
const cacheAgeMs = 4_000
const cachedKeysMax = 100_000
/** A timer of Node waits no longer than 24 days. */
const expiryTimerMsMax = 86_400_000

/** Makes the function that turns a request's credentials into its caller, or throws a 401 or 403. */
export const createAuthenticate = async (
  postgres: Postgres,
  secrets: Secret[],
  currency: string,
): Promise<Authenticate> => {
  interface Cached {
    key: Promise<KeyRecord | undefined>
    untilMs: number
    accountId: string | undefined
  }
  const cache = new Map<string, Cached>()
  const sessions = createSessionCache(postgres, secrets, cacheAgeMs)
  const forget = (change: string | undefined) => {
    if (change?.startsWith('session:') === true) {
      sessions.forget(change.slice('session:'.length))
      return
    }
    // A key that is stored under an older secret is notified by that hash. It is cached under it for its sessions, and
    // under the newest for its requests.
    if (change?.startsWith('key:') === true && secrets.length === 1) {
      cache.delete(change.slice('key:'.length))
      return
    }
    // A change of an account concerns all of its keys, and a reconnect may have missed notifications.
    cache.clear()
    if (change === undefined) sessions.clear()
  }
  interface Watched {
    credentials: Credentials
    operation: Operation
    /** Undefined for a session. */
    cacheId: string | undefined
    /** Undefined for a key. */
    sessionHash: string | undefined
    accountId: string | undefined
    waiting: AbortController
    expiryTimer: NodeJS.Timeout | undefined
  }
  const watched = new Set<Watched>()

  /** Nobody is notified of the expiry of a key. */
  const recheckIn = (each: Watched, delayMs: number) => {
    clearTimeout(each.expiryTimer)
    if (!watched.has(each)) return
    each.expiryTimer = setTimeout(() => void recheck(each), Math.min(delayMs, expiryTimerMsMax))
  }

  const recheck = async (each: Watched) => {
    const { credentials, operation, waiting } = each
    try {
      const { key, endsInMs } = await watchedKey(credentials, operation)
      if (endsInMs !== undefined) recheckIn(each, endsInMs)
      if (operation.access === 'operator') {
        assertRole(operatorOf(key, currency, credentials.address), operation.roles)
        recheckIn(each, Math.min(endsInMs ?? Infinity, (key.expiresAt?.getTime() ?? Infinity) - Date.now()))
      } else assertScope(callerOf(key, currency, credentials.address), operation)
    } catch (error) {
      // While the database cannot be asked, the key counts as valid. A reconnect checks it again.
      if (error instanceof ApiError) waiting.abort(error)
      else if (operation.access === 'operator' || each.sessionHash !== undefined) recheckIn(each, cacheAgeMs)
    }
  }

  const isConcerned = ({ cacheId, sessionHash, accountId }: Watched, change: string | undefined): boolean => {
    if (change?.startsWith('account:') === true) return change === `account:${accountId}`
    if (change?.startsWith('session:') === true && secrets.length === 1)
      return change === `session:${sessionHash}`
    // By which hashes the keys of a session are notified is not known here.
    if (sessionHash !== undefined) return true
    return change === undefined || secrets.length > 1 || change === `key:${cacheId}`
  }

  const listening = await postgres.listen('key_changes', (change) => {
    forget(change)
    for (const each of watched) if (isConcerned(each, change)) void recheck(each)
  })

  const lookUpHash = async (stored: Buffer): Promise<KeyRecord | undefined> => {
    const key = await findKey(postgres, [stored])
    return key !== undefined && timingSafeEqual(stored, key.hash) ? key : undefined
  }
  const lookUp = async (text: string): Promise<KeyRecord | undefined> => {
    const hashes = secrets.map((secret) => hashKey(text, secret))
    const key = await findKey(postgres, hashes)
    return key !== undefined && hashes.some((hash) => timingSafeEqual(hash, key.hash)) ? key : undefined
  }

  /** The keyed hashes by plain hashes, which take a fifth of the time. */
  const cacheIds = new Map<string, string>()

  const cacheIdOf = (text: string): string => {
    const plainHash = hash('sha256', text, 'base64')
    const known = cacheIds.get(plainHash)
    if (known !== undefined) return known
    const [secret] = secrets
    if (secret === undefined) throw new Error('KEY_HASH_SECRETS must hold at least one secret.')
    const id = hashKey(text, secret).toString('hex')
    if (cacheIds.size >= cachedKeysMax) cacheIds.clear()
    cacheIds.set(plainHash, id)
    return id
  }

  const cached = (id: string, look: () => Promise<KeyRecord | undefined>): Promise<KeyRecord | undefined> => {
    const found = cache.get(id)
    if (found !== undefined && found.untilMs > performance.now()) return found.key
    if (cache.size >= cachedKeysMax) cache.clear()
    const key = look()
    const entry: Cached = { key, untilMs: performance.now() + cacheAgeMs, accountId: found?.accountId }
    cache.set(id, entry)
    key.then(
      (record) => {
        entry.accountId = record?.accountId ?? undefined
      },
      // A failed lookup is not cached.
      () => cache.delete(id),
    )
    return key
  }

  const keyOfText = async (text: string): Promise<KeyRecord> => {
    assertKeyText(text)
    const key = await cached(cacheIdOf(text), () => lookUp(text))
    if (key === undefined || (key.isOldSecret && hasExpired(key))) throw unknownKey(text)
    return key
  }
  /** The key that signed in, with the secret that it had then. */
  const keyOfHash = async (stored: Buffer): Promise<KeyRecord> => {
    const key = await cached(stored.toString('hex'), () => lookUpHash(stored))
    if (key === undefined || (key.isOldSecret && hasExpired(key))) throw changedKey()
    return key
  }
  /** The key that a session stands for. Without one for this access it is the other one, which is refused for what it is. */
  const keyOfSession = async (token: string, { access }: Pick<Operation, 'access'>, isUse: boolean) => {
    const session = await sessions.find(token, isUse)
    if (session === undefined) throw endedSession('missing_api_key')
    const { keyHash, operatorKeyHash, endsInMs } = session
    const stored = access === 'operator' ? (operatorKeyHash ?? keyHash) : (keyHash ?? operatorKeyHash)
    if (stored === null) throw changedKey()
    return { key: await keyOfHash(stored), endsInMs }
  }
  const keyOf = async (credentials: Credentials, access: Operation['access']): Promise<KeyRecord> => {
    const token = sessionTokenOf(credentials)
    if (token === undefined) return keyOfText(keyTextOf(credentials))
    return (await keyOfSession(token, { access }, true)).key
  }
  /** A call that only waits does not use its session. */
  const watchedKey = async (credentials: Credentials, { access }: Operation) => {
    const token = sessionTokenOf(credentials)
    return token === undefined
      ? { key: await keyOf(credentials, access), endsInMs: undefined }
      : keyOfSession(token, { access }, false)
  }

  const findHolder = async (session: SessionRecord, address: string): Promise<SessionHolder> => {
    const refusals: ApiError[] = []
    const identify = async <Identity>(stored: Buffer | null, identityOf: (key: KeyRecord) => Identity) => {
      try {
        return stored === null ? undefined : identityOf(await keyOfHash(stored))
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        refusals.push(error)
        return undefined
      }
    }
    const caller = await identify(session.keyHash, (key) => callerOf(key, currency, address))
    const operator = await identify(session.operatorKeyHash, (key) => operatorOf(key, currency, address))
    if (caller === undefined && operator === undefined)
      throw endedSession('missing_session', refusals[0]?.message)
    return { session, caller, operator }
  }

  const authenticate = async (credentials: Credentials): Promise<Caller> =>
    callerOf(await keyOf(credentials, 'key'), currency, credentials.address)
  return Object.assign(authenticate, {
    operator: async (credentials: Credentials) =>
      operatorOf(await keyOf(credentials, 'operator'), currency, credentials.address),
    session: async ({ session: token, address }: Credentials) => {
      const session = token === undefined ? undefined : await sessions.find(token, true)
      if (session === undefined) throw new ApiError('missing_session')
      return findHolder(session, address)
    },
    signIn: async (texts: string[], address: string) =>
      assertUsable(await Promise.all(texts.map(keyOfText)), currency, address),
    signInByHashes: async ({ keyHash, operatorKeyHash }: SignInHashes, address: string) => {
      const hashes = [keyHash, operatorKeyHash].filter((stored) => stored !== null)
      return assertUsable(await Promise.all(hashes.map(keyOfHash)), currency, address)
    },
    likelyAccount: ({ authorization, apiKey }: Credentials) => {
      const text = authorization?.trim().split(/\s+/)[1] ?? apiKey
      return text !== undefined && isKeyText(text) ? cache.get(cacheIdOf(text))?.accountId : undefined
    },
    watch: (
      credentials: Credentials,
      operation: Operation,
      accountId: string | undefined,
      waiting: AbortController,
    ) => {
      const token = sessionTokenOf(credentials)
      const [cacheId, sessionHash] =
        token === undefined
          ? [cacheIdOf(keyTextOf(credentials)), undefined]
          : [undefined, sessions.hashOf(token)]
      const each: Watched = {
        ...{ credentials, operation, accountId, waiting, cacheId, sessionHash },
        expiryTimer: undefined,
      }
      watched.add(each)
      // It may have changed since it was authenticated.
      void recheck(each)
      return () => {
        watched.delete(each)
        clearTimeout(each.expiryTimer)
      }
    },
    forgetSessions: () => sessions.clear(),
    forget: () => cache.clear(),
    close: () => listening.stop(),
  })
}

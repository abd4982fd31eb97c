import { hash, timingSafeEqual } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'

import type { Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import { isAddressAllowed, type Caller, type Operator } from './caller.ts'
import { assertScope } from './key-scope.ts'
import { findKey, type KeyRecord } from './key-store.ts'
import { hashKey, hintOf, isKeyText } from './key-text.ts'
import { assertRole } from './operator-role.ts'

/** The parts of a request that identify its sender. */
interface Credentials {
  authorization: string | undefined
  apiKey: string | undefined
  address: string
}

export interface Authenticate {
  (credentials: Credentials): Promise<Caller>
  /** Authenticates an operator; a customer's key is refused. */
  operator: (credentials: Credentials) => Promise<Operator>
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
  /** Clears this process's cache after a change of a key. Other processes are notified by the database. */
  forget: () => void
  close: () => Promise<void>
}

// A change of a key is notified to every process; the maximum age bounds the effect of a lost notification.
const cacheAgeMs = 4_000
const cachedKeysMax = 100_000
/** A timer of Node waits no longer than 24 days. */
const expiryTimerMsMax = 86_400_000

const challenge = { 'www-authenticate': 'Bearer' }

const invalidKey = (message: string) => new ApiError('invalid_api_key', { message, headers: challenge })
const expiredKey = ({ hint, expiresAt }: KeyRecord) =>
  new ApiError('expired_api_key', {
    message: `This key (${hint}) expired at ${expiresAt?.toISOString()}.`,
    headers: challenge,
  })
const addressNotAllowed = ({ hint }: KeyRecord, address: string) =>
  new ApiError('ip_not_allowed', { message: `This key (${hint}) may not be used from ${address}.` })
const disabledKey = ({ hint }: KeyRecord) =>
  new ApiError('access_denied', { message: `This key (${hint}) is disabled.` })

/** Enough to tell which of several keys was sent. A text that is too short to be a key may be a password. */
const endOf = (text: string): string =>
  text.length >= 20 && /^[\w-]{4}$/.test(text.slice(-4)) ? ` (it ends in ${hintOf(text)})` : ''

/** Reads the key; `Authorization` takes precedence over `x-api-key`. */
const keyTextOf = ({ authorization, apiKey }: Credentials): string => {
  if (authorization === undefined) {
    if (apiKey !== undefined && apiKey !== '') return apiKey
    throw new ApiError('missing_api_key', { headers: challenge })
  }
  const [scheme = '', token = '', ...rest] = authorization.trim().split(/\s+/)
  if (scheme.toLowerCase() !== 'bearer' && scheme !== '')
    throw invalidKey('`Authorization` does not start with `Bearer`. Send `Authorization: Bearer sk-…`.')
  if (token === '') throw new ApiError('missing_api_key', { headers: challenge })
  if (rest.length > 0) throw invalidKey('`Authorization` has more than a key after `Bearer`. Send one key.')
  return token
}

const hasExpired = ({ expiresAt }: KeyRecord): boolean =>
  expiresAt !== null && expiresAt.getTime() <= Date.now()

/** The caller that a key identifies. The address is omitted if an operator acts on the key's behalf. */
export const callerOf = (key: KeyRecord, currency: string, address?: string): Caller => {
  if (hasExpired(key)) throw expiredKey(key)
  const caller = {
    keyId: key.id,
    scopes: key.scopes,
    addresses: key.addresses ?? undefined,
    models: key.models ?? undefined,
    requestsPerMinute: key.requestsPerMinute ?? undefined,
    limits: key.limits,
    dialect: key.dialect,
    hasQuota: key.hasQuota,
    currency,
  }
  if (address !== undefined && !isAddressAllowed(caller, address)) throw addressNotAllowed(key, address)
  if (key.isDisabled) throw disabledKey(key)
  if (key.kind === 'admin' || key.accountId === null) {
    throw new ApiError('access_denied', { message: "An operator's key cannot be used to generate media." })
  }
  if (key.accountStatus === 'suspended') throw new ApiError('account_suspended')
  return { ...caller, accountId: key.accountId, kind: key.kind }
}

const operatorOf = (key: KeyRecord, currency: string, address: string): Operator => {
  if (hasExpired(key)) throw expiredKey(key)
  if (!isAddressAllowed({ addresses: key.addresses ?? undefined }, address))
    throw addressNotAllowed(key, address)
  if (key.kind !== 'admin' || key.role === null)
    throw new ApiError('access_denied', {
      message: "This endpoint requires an operator's key, and this is a customer's.",
    })
  if (key.isDisabled) throw disabledKey(key)
  const { id: keyId, name, hint, role, limits } = key
  return { keyId, name, hint, role, limits, requestsPerMinute: key.requestsPerMinute ?? undefined, currency }
}

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

  const forget = (change: string | undefined) => {
    // A key that is stored under an older secret is notified by that hash, but cached here under the newest.
    if (
      change?.startsWith('key:') === true &&
      (cache.delete(change.slice('key:'.length)) || secrets.length === 1)
    )
      return
    // A change of an account concerns all of its keys, and a reconnect may have missed notifications.
    cache.clear()
  }
  interface Watched {
    credentials: Credentials
    operation: Operation
    cacheId: string
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
      const key = await keyOf(credentials)
      if (operation.access === 'operator') {
        assertRole(operatorOf(key, currency, credentials.address), operation.roles)
        recheckIn(each, (key.expiresAt?.getTime() ?? Infinity) - Date.now())
      } else assertScope(callerOf(key, currency, credentials.address), operation)
    } catch (error) {
      // While the database cannot be asked, the key counts as valid. A reconnect checks it again.
      if (error instanceof ApiError) waiting.abort(error)
      else if (operation.access === 'operator') recheckIn(each, cacheAgeMs)
    }
  }

  const isConcerned = ({ cacheId, accountId }: Watched, change: string | undefined): boolean => {
    if (change?.startsWith('account:') === true) return change === `account:${accountId}`
    return change === undefined || secrets.length > 1 || change === `key:${cacheId}`
  }

  const listening = await postgres.listen('key_changes', (change) => {
    forget(change)
    for (const each of watched) if (isConcerned(each, change)) void recheck(each)
  })

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

  const cached = (text: string): Promise<KeyRecord | undefined> => {
    const id = cacheIdOf(text)
    const found = cache.get(id)
    if (found !== undefined && found.untilMs > performance.now()) return found.key
    if (cache.size >= cachedKeysMax) cache.clear()
    const key = lookUp(text)
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

  const keyOf = async (credentials: Credentials): Promise<KeyRecord> => {
    const text = keyTextOf(credentials)
    if (!isKeyText(text)) {
      throw invalidKey(
        `This is not a key of this service${endOf(text)}. Check that it was copied completely.`,
      )
    }
    const key = await cached(text)
    if (key === undefined || (key.isOldSecret && hasExpired(key))) {
      throw invalidKey(`This key is not known here${endOf(text)}.`)
    }
    return key
  }
  const authenticate = async (credentials: Credentials): Promise<Caller> =>
    callerOf(await keyOf(credentials), currency, credentials.address)
  return Object.assign(authenticate, {
    operator: async (credentials: Credentials) =>
      operatorOf(await keyOf(credentials), currency, credentials.address),
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
      const cacheId = cacheIdOf(keyTextOf(credentials))
      const each: Watched = { credentials, operation, accountId, waiting, cacheId, expiryTimer: undefined }
      watched.add(each)
      // It may have changed since it was authenticated.
      void recheck(each)
      return () => {
        watched.delete(each)
        clearTimeout(each.expiryTimer)
      }
    },
    forget: () => cache.clear(),
    close: () => listening.stop(),
  })
}

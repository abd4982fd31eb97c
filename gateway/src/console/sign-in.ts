/** What signing in with keys and with a link have in common: the limit of attempts, and which keys are accepted. */
import { ApiError } from '@kinora/contract/errors'

import type { Authenticate } from '../auth/authenticate.ts'
import type { SignInKeys } from '../auth/identify.ts'
import { hashKey } from '../auth/key-text.ts'
import { isSessionToken } from '../auth/session-token.ts'
import type { Call } from '../http/call.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import { findLink, type HeldKeys, type LinkRow } from './console-session-store.ts'

export interface SignInDependencies {
  postgres: Postgres
  authenticate: Authenticate
  /** The secrets in use for hashing keys, newest first. */
  secrets: Secret[]
  currency: string
  /** Waits until another attempt of this address may be checked; returns the function that ends the check. */
  startAttempt: (address: string, signal: AbortSignal) => Promise<() => void>
  /** Counts a failure of an address, and throws 429 instead if there were too many. */
  countFailedSignIn: (address: string) => Promise<void>
  /** False for the server of the admin API alone. */
  takesCustomers: boolean
  /** False for the server of the public API if the admin API has its own. */
  servesOperators: boolean
  audit: (
    database: Database,
    by: { actor: string; requestId: string },
    change: { action: string; target: string; before?: unknown; after?: unknown },
  ) => Promise<void>
}

/** Hashes of a token under all secrets; the first is the one to store. */
export const hashToken = (token: string, secrets: Secret[]): [Buffer, ...Buffer[]] => {
  const [first, ...others] = secrets.map((secret) => hashKey(token, secret))
  if (first === undefined) throw new Error('KEY_HASH_SECRETS must hold at least one secret.')
  return [first, ...others]
}

export const heldKeysOf = ({ key, operatorKey }: SignInKeys): HeldKeys => ({
  keyId: key?.id ?? null,
  keyHash: key?.hash ?? null,
  operatorKeyId: operatorKey?.id ?? null,
  operatorKeyHash: operatorKey?.hash ?? null,
})

export const invalidLink = () =>
  new ApiError('link_expired', {
    message: 'This sign-in link is not valid: it was used, it has expired, or it was not copied completely.',
  })

/**
 * Limits the attempts of an address: how many run at once, and how many fail. Keys and links are checked before failures are
 * counted, so that the failures of others at the same address never refuse a valid one. Neither can be guessed, and a check
 * is one indexed query per key.
 */
export const limitAttempts = async <Result>(
  { startAttempt, countFailedSignIn }: Pick<SignInDependencies, 'startAttempt' | 'countFailedSignIn'>,
  { address, signal }: Pick<Call, 'address' | 'signal'>,
  attempt: () => Promise<Result>,
): Promise<Result> => {
  const end = await startAttempt(address, signal)
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof ApiError) await countFailedSignIn(address)
    throw error
  } finally {
    end()
  }
}

/** The server of the admin API alone has nothing for customers. */
export const assertTaken = (
  keys: SignInKeys,
  { takesCustomers }: Pick<SignInDependencies, 'takesCustomers'>,
): SignInKeys => {
  if (keys.key === undefined || takesCustomers) return keys
  throw new ApiError('access_denied', {
    message: "This is the console of operators. Sign in with an operator's key alone.",
  })
}

/** Whom a link stands for, with the keys. It stays valid. */
export const checkLink = async (
  dependencies: Pick<SignInDependencies, 'postgres' | 'authenticate' | 'secrets' | 'takesCustomers'>,
  link: string,
  address: string,
): Promise<{ holder: LinkRow; keys: SignInKeys }> => {
  const { postgres, authenticate, secrets } = dependencies
  const holder = isSessionToken(link) ? await findLink(postgres, hashToken(link, secrets)) : undefined
  if (holder === undefined) throw invalidLink()
  return { holder, keys: assertTaken(await authenticate.signInByHashes(holder, address), dependencies) }
}

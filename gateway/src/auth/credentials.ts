/** The parts of a request that identify its sender. */
import { ApiError } from '@kinora/contract/errors'

import { challenge, invalidKey } from './identify.ts'
import { hintOf, isKeyText } from './key-text.ts'

export interface Credentials {
  authorization: string | undefined
  apiKey: string | undefined
  /** The token of a session of the console. A request with a key is authenticated by the key. */
  session?: string | undefined
  address: string
}

/** Enough to tell which of several keys was sent. A text that is too short to be a key may be a password. */
const endOf = (text: string): string =>
  text.length >= 20 && /^[\w-]{4}$/.test(text.slice(-4)) ? ` (it ends in ${hintOf(text)})` : ''

/** Reads the key; `Authorization` takes precedence over `x-api-key`. */
export const keyTextOf = ({ authorization, apiKey }: Credentials): string => {
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

/** Refuses a text that cannot be a key, without a look into the database. */
export const assertKeyText = (text: string): void => {
  if (isKeyText(text)) return
  throw invalidKey(`This is not a key of this service${endOf(text)}. Check that it was copied completely.`)
}

export const unknownKey = (text: string) => invalidKey(`This key is not known here${endOf(text)}.`)

/** The token of the session that authenticates a request; undefined if a key does, or nothing. */
export const sessionTokenOf = ({ authorization, apiKey, session }: Credentials): string | undefined =>
  authorization === undefined && (apiKey === undefined || apiKey === '') ? session : undefined

/** Without a reason it was revoked, has expired or never existed. */
export const endedSession = (code: 'missing_api_key' | 'missing_session', reason?: string) =>
  new ApiError(code, {
    headers: challenge,
    message: `The session of the console has ended${reason === undefined ? '. Sign in again.' : `: ${reason}`}`,
  })

export const changedKey = () =>
  invalidKey('The key of this session was deleted or has a new secret. Sign in again.')

/** The secret of a session of the console, or of a link that signs in, and the cookie that carries it. */
import { randomBytes } from 'node:crypto'

/** A browser accepts a cookie with this prefix only from its own host, with `Secure` and for all paths. */
const secureName = '__Host-kinora_session'
/** For a service that is reached by plain HTTP from another machine, where a browser accepts no secure cookie. */
const plainName = 'kinora_session'

const cookieSecondsMax = 604_800

/** 256 random bits. */
export const createSessionToken = (): string => randomBytes(32).toString('base64url')

export const isSessionToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

const nameOf = (isSecure: boolean): string => (isSecure ? secureName : plainName)

/** The token in a `Cookie` header. A cookie that is there twice counts as absent, because one of them is foreign. */
export const readSessionCookie = (header: string | undefined, isSecure: boolean): string | undefined => {
  if (header === undefined) return undefined
  const values = header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at > 0 && pair.slice(0, at).trim() === nameOf(isSecure) ? [pair.slice(at + 1).trim()] : []
  })
  const [value, ...others] = values
  return value !== undefined && others.length === 0 && value !== '' ? value : undefined
}

/** The `Set-Cookie` header of a session; without a token it deletes the cookie. */
export const writeSessionCookie = (token: string | undefined, isSecure: boolean): string =>
  [
    `${nameOf(isSecure)}=${token ?? ''}`,
    'Path=/',
    `Max-Age=${token === undefined ? 0 : cookieSecondsMax}`,
    'HttpOnly',
    'SameSite=Strict',
    ...(isSecure ? ['Secure'] : []),
  ].join('; ')

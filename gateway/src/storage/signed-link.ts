/**
 * Links that open a file without a key: the address itself is signed and runs out. Secrets are listed
 * newest first; a link names the one it was signed with, so an older one can be retired in its own time.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'

import type { Secret } from '../platform/secret.ts'

export interface LinkSigner {
  link: (mediaId: string, name: string) => string
  /** What an address of ours ends in so that it opens `subject`, which may be something else than a file. */
  query: (subject: string) => string
  /** Throws the right error for a link that is forged, altered or over. */
  check: (mediaId: string, query: Record<string, string>) => void
  /** The file that one of our own links leads to, checked as above; undefined for any other address. */
  mediaIdOf: (url: string) => string | undefined
  /** Changes before a link that was made under the same number has run out. */
  period: () => number
}

const nameOf = (secret: Secret) => createHash('sha256').update(secret.reveal()).digest('hex').slice(0, 8)

const sign = (secret: Secret, mediaId: string, expires: string) =>
  createHmac('sha256', secret.reveal()).update(`v1|media|${mediaId}|${expires}`).digest()

export const createLinkSigner = (secrets: Secret[], publicUrl: string, linkSeconds: number): LinkSigner => {
  const [newest] = secrets
  if (newest === undefined) throw new Error('at least one secret for links is needed')
  const newestName = nameOf(newest)
  const byName = new Map(secrets.map((secret) => [nameOf(secret), secret]))
  const check: LinkSigner['check'] = (mediaId, { expires = '', key = '', signature = '' }) => {
    const secret = byName.get(key)
    const given = Buffer.from(signature, 'base64url')
    const expected = secret === undefined ? undefined : sign(secret, mediaId, expires)
    if (expected === undefined || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new ApiError('media_not_found')
    }
    if (Number(expires) * 1000 <= Date.now()) throw new ApiError('link_expired')
  }
  const query: LinkSigner['query'] = (subject) => {
    const expires = String(Math.floor(Date.now() / 1000) + linkSeconds)
    const signature = sign(newest, subject, expires).toString('base64url')
    return `expires=${expires}&key=${newestName}&signature=${signature}`
  }
  const ownPlace = URL.parse(`${publicUrl}/media/`)
  return {
    check,
    query,
    period: () => Math.floor(Date.now() / 1000 / linkSeconds),
    mediaIdOf: (text) => {
      const url = URL.parse(text)
      if (url === null || url.origin !== ownPlace?.origin || !url.pathname.startsWith(ownPlace.pathname))
        return undefined
      const mediaId = url.pathname.slice(ownPlace.pathname.length).split('/', 1)[0] ?? ''
      check(mediaId, Object.fromEntries(url.searchParams))
      return mediaId
    },
    link: (mediaId, name) => `${publicUrl}/media/${mediaId}/${encodeURIComponent(name)}?${query(mediaId)}`,
  }
}

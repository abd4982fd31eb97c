/**
 * Signed links that open a file without an API key and expire. Secrets are configured newest first. A link contains the
 * name of its secret, so that secrets can be rotated.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'

import type { Secret } from '../platform/secret.ts'

export interface LinkSigner {
  link: (mediaId: string, name: string) => string
  /** The signed query string for `subject`, which may also be something else than a file. */
  query: (subject: string) => string
  /** Throws if a link is forged, altered or expired. */
  check: (mediaId: string, query: Record<string, string>) => void
  /** The media id of one of our own links, checked as above; undefined for any other URL. */
  mediaIdOf: (url: string) => string | undefined
  /** A number that changes before the links made during it expire. */
  period: () => number
}

const nameOf = (secret: Secret) => createHash('sha256').update(secret.reveal()).digest('hex').slice(0, 8)

const sign = (secret: Secret, mediaId: string, expires: string) =>
  createHmac('sha256', secret.reveal()).update(`v1|media|${mediaId}|${expires}`).digest()

export const createLinkSigner = (secrets: Secret[], publicUrl: string, linkSeconds: number): LinkSigner => {
  const [newest] = secrets
  if (newest === undefined) throw new Error('signing links requires at least one secret')
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
  const mediaBase = URL.parse(`${publicUrl}/media/`)
  return {
    check,
    query,
    period: () => Math.floor(Date.now() / 1000 / linkSeconds),
    mediaIdOf: (text) => {
      const url = URL.parse(text)
      if (url === null || url.origin !== mediaBase?.origin || !url.pathname.startsWith(mediaBase.pathname))
        return undefined
      const mediaId = url.pathname.slice(mediaBase.pathname.length).split('/', 1)[0] ?? ''
      check(mediaId, Object.fromEntries(url.searchParams))
      return mediaId
    },
    link: (mediaId, name) => `${publicUrl}/media/${mediaId}/${encodeURIComponent(name)}?${query(mediaId)}`,
  }
}

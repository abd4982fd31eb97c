/**
 * Signed links that open a file without an API key and expire. The signature covers the file name too, and a link is valid
 * only character for character as it was issued. Secrets are configured newest first. A link contains the name of its
 * secret, so that secrets can be rotated.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'

import type { Secret } from '../platform/secret.ts'

export interface LinkSigner {
  link: (mediaId: string, name: string) => string
  /** The signed query string for `subject`, which may also be something else than a file. */
  query: (subject: string) => string
  /** Throws if a query string was not issued for `subject` exactly as it is, or has expired. */
  check: (subject: string, query: string) => void
  /** The media id of a link that begins with `/media/`. Throws if the link was not issued exactly as it is, or has expired. */
  mediaIdOfPath: (path: string) => string
  /** The media id of one of our own links, checked as above; undefined for any other URL. */
  mediaIdOf: (url: string) => string | undefined
  /** A number that changes before the links made during it expire. */
  period: () => number
}

const nameOf = (secret: Secret) => createHash('sha256').update(secret.reveal()).digest('hex').slice(0, 8)

const sign = (secret: Secret, subject: string, expires: string): string =>
  createHmac('sha256', secret.reveal()).update(`v1|media|${subject}|${expires}`).digest('base64url')

// The text is compared and not the decoded bytes, because base64 decoders accept many texts for the same bytes.
const isSame = (given: string, expected: string) =>
  given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))

// Nothing may precede or follow, and nothing may be written differently.
const queryPattern = /^expires=(\d+)&key=([0-9a-f]{8})&signature=([\w-]{43})$/
const pathPattern = /^\/media\/([^/?]+)(\/[^/?]+)\?(.*)$/s

export const createLinkSigner = (secrets: Secret[], publicUrl: string, linkSeconds: number): LinkSigner => {
  const [newest] = secrets
  if (newest === undefined) throw new Error('signing links requires at least one secret')
  const newestName = nameOf(newest)
  const byName = new Map(secrets.map((secret) => [nameOf(secret), secret]))
  const check: LinkSigner['check'] = (subject, query) => {
    const [, expires = '', key = '', signature = ''] = queryPattern.exec(query) ?? []
    const secret = byName.get(key)
    if (secret === undefined || !isSame(signature, sign(secret, subject, expires))) {
      throw new ApiError('media_not_found')
    }
    const expiresMs = Number(expires) * 1000
    if (expiresMs <= Date.now()) {
      throw new ApiError('link_expired', {
        message: `This link expired at ${new Date(expiresMs).toISOString()}.`,
      })
    }
  }
  const query: LinkSigner['query'] = (subject) => {
    const expires = String(Math.floor(Date.now() / 1000) + linkSeconds)
    return `expires=${expires}&key=${newestName}&signature=${sign(newest, subject, expires)}`
  }
  const mediaIdOfPath: LinkSigner['mediaIdOfPath'] = (path) => {
    const [, mediaId = '', name = '', signedQuery = ''] = pathPattern.exec(path) ?? []
    check(`${mediaId}${name}`, signedQuery)
    return mediaId
  }
  const base = URL.parse(publicUrl)
  const basePath = base?.pathname.replace(/\/$/, '') ?? ''
  return {
    check,
    query,
    mediaIdOfPath,
    period: () => Math.floor(Date.now() / 1000 / linkSeconds),
    mediaIdOf: (text) => {
      const url = URL.parse(text)
      if (url === null || url.origin !== base?.origin || !url.pathname.startsWith(`${basePath}/media/`))
        return undefined
      return mediaIdOfPath(`${url.pathname.slice(basePath.length)}${url.search}${url.hash}`)
    },
    link: (mediaId, name) => {
      const file = `${mediaId}/${encodeURIComponent(name)}`
      return `${publicUrl}/media/${file}?${query(file)}`
    },
  }
}

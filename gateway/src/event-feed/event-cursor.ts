/**
 * Cursors of the feed. A position has the id of a transaction, which would reveal how much others do, so it is encrypted. The
 * key depends on the reader: a cursor of another account is rejected. Equal positions have equal cursors.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

import type { Secret } from '../platform/secret.ts'
import type { FeedPosition } from './event-feed-store.ts'

const tagBytes = 16
const plainBytes = 24

const deriveKeys = (secret: Secret, reader: string) => {
  const derived = Buffer.from(hkdfSync('sha256', secret.reveal(), '', `kinora event cursor ${reader}`, 64))
  return { tagKey: derived.subarray(0, 32), cipherKey: derived.subarray(32) }
}

/** Also the initialization vector, as in RFC 5297. */
const createTag = (tagKey: Buffer, plain: Buffer): Buffer =>
  createHmac('sha256', tagKey).update(plain).digest().subarray(0, tagBytes)

export const writeCursor = (secrets: Secret[], reader: string, place: FeedPosition): string => {
  const [newest] = secrets
  if (newest === undefined) throw new Error('LINK_SECRETS must hold at least one secret.')
  const { tagKey, cipherKey } = deriveKeys(newest, reader)
  const plain = Buffer.alloc(plainBytes)
  plain.writeBigInt64BE(BigInt(place.position), 0)
  plain.writeBigInt64BE(BigInt(place.number), 8)
  plain.writeBigInt64BE(BigInt(place.at.getTime()), 16)
  const tag = createTag(tagKey, plain)
  const cipher = createCipheriv('aes-256-ctr', cipherKey, tag)
  return Buffer.concat([tag, cipher.update(plain), cipher.final()]).toString('base64url')
}

/** Undefined for a text that is not a cursor of this reader. */
export const readCursor = (secrets: Secret[], reader: string, cursor: string): FeedPosition | undefined => {
  const sealed = Buffer.from(cursor, 'base64url')
  if (sealed.length !== tagBytes + plainBytes) return undefined
  const tag = sealed.subarray(0, tagBytes)
  for (const secret of secrets) {
    const { tagKey, cipherKey } = deriveKeys(secret, reader)
    const decipher = createDecipheriv('aes-256-ctr', cipherKey, tag)
    const plain = Buffer.concat([decipher.update(sealed.subarray(tagBytes)), decipher.final()])
    if (!timingSafeEqual(createTag(tagKey, plain), tag)) continue
    return {
      position: plain.readBigInt64BE(0).toString(),
      number: plain.readBigInt64BE(8).toString(),
      at: new Date(Number(plain.readBigInt64BE(16))),
    }
  }
  return undefined
}

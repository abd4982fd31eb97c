/**
 * Ids of audio replies, which later messages can refer to. The vendor's own id must not be usable by other accounts, so
 * the public id contains it encrypted and bound to the account.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

import type { Secret } from '../platform/secret.ts'

const prefix = 'audio_'
const ivBytes = 12
const tagBytes = 16

export interface ReplyIds {
  seal: (accountId: string, provider: string, upstreamId: string) => string
  /** The provider's id; undefined if the reply belongs to another provider or account. */
  open: (accountId: string, provider: string, id: string) => string | undefined
}

export const createReplyIds = (secrets: Secret[]): ReplyIds => {
  const keys = secrets.map((secret) =>
    Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'ids of spoken replies', 32)),
  )
  const [newest] = keys
  if (newest === undefined) throw new Error('at least one secret is needed')
  const boundTo = (accountId: string, provider: string) => Buffer.from(JSON.stringify([accountId, provider]))

  const openWith = (key: Buffer, bound: Buffer, sealed: Buffer): string | undefined => {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivBytes))
      decipher.setAAD(bound).setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes))
      const text = sealed.subarray(ivBytes + tagBytes)
      return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8')
    } catch {
      return undefined
    }
  }

  return {
    seal: (accountId, provider, upstreamId) => {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', newest, iv).setAAD(boundTo(accountId, provider))
      const text = Buffer.concat([cipher.update(upstreamId, 'utf8'), cipher.final()])
      return prefix + Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
    },
    open: (accountId, provider, id) => {
      const sealed = Buffer.from(id.slice(prefix.length), 'base64url')
      if (!id.startsWith(prefix) || sealed.length <= ivBytes + tagBytes) return undefined
      const bound = boundTo(accountId, provider)
      for (const key of keys) {
        const opened = openWith(key, bound, sealed)
        if (opened !== undefined) return opened
      }
      return undefined
    },
  }
}

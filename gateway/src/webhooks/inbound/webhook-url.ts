/**
 * The addresses that providers bring their news to. Each is for one task at one provider, and signed, so that nobody can
 * make one up; what is brought there must be signed by the provider besides.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import type { Secret } from '../../platform/secret.ts'

export interface WebhookUrls {
  urlFor: (provider: string, taskId: string) => string
  /** Whether an address is one of ours, by its parts. */
  isOurs: (provider: string, taskId: string, query: Record<string, string>) => boolean
}

const nameOf = (secret: Secret) => createHash('sha256').update(secret.reveal()).digest('hex').slice(0, 8)

// The word in front keeps what is signed here from opening anything else, and the reverse.
const sign = (secret: Secret, provider: string, taskId: string) =>
  createHmac('sha256', secret.reveal())
    .update(`v1|news|${JSON.stringify([provider, taskId])}`)
    .digest()

export const createWebhookUrls = (secrets: Secret[], publicUrl: string): WebhookUrls => {
  const [newest] = secrets
  if (newest === undefined) throw new Error('at least one secret for links is needed')
  const newestName = nameOf(newest)
  const byName = new Map(secrets.map((secret) => [nameOf(secret), secret]))
  return {
    urlFor: (provider, taskId) => {
      const signature = sign(newest, provider, taskId).toString('base64url')
      const path = `/webhooks/${encodeURIComponent(provider)}/${encodeURIComponent(taskId)}`
      return `${publicUrl}${path}?key=${newestName}&signature=${signature}`
    },
    isOurs: (provider, taskId, { key = '', signature = '' }) => {
      const secret = byName.get(key)
      if (secret === undefined) return false
      const given = Buffer.from(signature, 'base64url')
      const expected = sign(secret, provider, taskId)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}

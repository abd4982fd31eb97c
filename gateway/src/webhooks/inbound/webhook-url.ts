/**
 * The webhook URLs passed to providers. Each URL is for one task at one provider and is signed by us; its deliveries must
 * be signed by the provider as well.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

import type { Secret } from '../../platform/secret.ts'

export interface WebhookUrls {
  urlFor: (provider: string, taskId: string) => string
  /** Whether the signature in the query is valid for this provider and task. */
  isOurs: (provider: string, taskId: string, query: Record<string, string>) => boolean
}

const nameOf = (secret: Secret) => createHash('sha256').update(secret.reveal()).digest('hex').slice(0, 8)

// The prefix separates these signatures from those of other links with the same secret.
const sign = (secret: Secret, provider: string, taskId: string): string =>
  createHmac('sha256', secret.reveal())
    .update(`v1|webhook|${JSON.stringify([provider, taskId])}`)
    .digest('base64url')

export const createWebhookUrls = (secrets: Secret[], publicUrl: string): WebhookUrls => {
  const [newest] = secrets
  if (newest === undefined) throw new Error('at least one link secret is required')
  const newestName = nameOf(newest)
  const byName = new Map(secrets.map((secret) => [nameOf(secret), secret]))
  return {
    urlFor: (provider, taskId) => {
      const signature = sign(newest, provider, taskId)
      const path = `/webhooks/${encodeURIComponent(provider)}/${encodeURIComponent(taskId)}`
      return `${publicUrl}${path}?key=${newestName}&signature=${signature}`
    },
    isOurs: (provider, taskId, { key = '', signature = '' }) => {
      const secret = byName.get(key)
      if (secret === undefined) return false
      // The texts are compared, because base64 decoders accept many texts for the same bytes.
      const given = Buffer.from(signature)
      const expected = Buffer.from(sign(secret, provider, taskId))
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}

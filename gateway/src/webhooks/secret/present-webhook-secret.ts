import type { WebhookSecret } from '@kinora/contract/operations/webhook-secret'

import type { Secret } from '../../platform/secret.ts'
import type { SealedWebhookSecret } from './webhook-secret-store.ts'

export const presentWebhookSecret = (
  secret: Secret,
  { previousSecretExpiresAt }: Pick<SealedWebhookSecret, 'previousSecretExpiresAt'>,
): WebhookSecret => ({
  object: 'webhook_secret',
  secret: secret.reveal(),
  previous_secret_expires_at:
    previousSecretExpiresAt === null ? null : Math.floor(previousSecretExpiresAt.getTime() / 1000),
})

import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { openSecret } from '../../platform/sealed-secret.ts'
import type { Secret } from '../../platform/secret.ts'
import { createSealedSecret, webhookSecretOwner } from '../signing/webhook-secret.ts'
import { presentWebhookSecret } from './present-webhook-secret.ts'
import { addWebhookSecret, findWebhookSecret } from './webhook-secret-store.ts'

/** An account gets its secret with the first create that names a webhook, or here, so that receivers can be prepared. */
export const getWebhookSecret =
  ({
    database,
    sealingSecrets,
  }: {
    database: Database
    sealingSecrets: Secret[]
  }): Handler<typeof operations.getWebhookSecret> =>
  async ({ caller: { accountId } }) => {
    let found = await findWebhookSecret(database, accountId)
    if (found === undefined) {
      await addWebhookSecret(database, accountId, createSealedSecret(sealingSecrets, accountId).sealed)
      found = await findWebhookSecret(database, accountId)
    }
    const secret = found && openSecret(sealingSecrets, webhookSecretOwner(accountId), found.secret)
    if (found === undefined || secret === undefined) {
      throw new ApiError('conflict', {
        message:
          'The secret cannot be decrypted, because the secrets of this installation were replaced. Rotate it with POST /v1/webhook_secret/rotate.',
      })
    }
    return { body: presentWebhookSecret(secret, found) }
  }

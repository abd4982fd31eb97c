import type { operations } from '@kinora/contract/operations'
import { RotateSecretBody, secretOverlapSeconds } from '@kinora/contract/operations/webhook-fields'

import { lockCallingKey } from '../../account/keys/manage-keys.ts'
import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { createSealedSecret } from '../signing/webhook-secret.ts'
import { presentWebhookSecret } from './present-webhook-secret.ts'
import { replaceWebhookSecret } from './webhook-secret-store.ts'

export const rotateWebhookSecret =
  ({
    postgres,
    sealingSecrets,
  }: {
    postgres: Postgres
    sealingSecrets: Secret[]
  }): SelfServiceHandler<typeof operations.rotateWebhookSecret> =>
  async (call) => {
    const { accountId } = call.caller
    const { overlap_seconds: overlapSeconds = secretOverlapSeconds } = call.read(RotateSecretBody)
    const { secret, sealed } = createSealedSecret(sealingSecrets, accountId)
    const replaced = await postgres.transaction(async (database) => {
      await lockCallingKey(database, call.caller)
      const row = await replaceWebhookSecret(database, accountId, sealed, overlapSeconds)
      if (row === undefined) throw new Error('the secret was not stored')
      await call.audit(database, {
        action: 'rotateWebhookSecret',
        target: accountId,
        after: { overlap_seconds: overlapSeconds },
      })
      return row
    })
    return { body: presentWebhookSecret(secret, replaced) }
  }

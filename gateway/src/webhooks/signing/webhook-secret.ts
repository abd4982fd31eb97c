/** Secrets of webhooks. They are stored sealed. That of an endpoint is shown once; that of an account can be read again. */
import { randomBytes } from 'node:crypto'

import { sealSecret, type SecretOwner } from '../../platform/sealed-secret.ts'
import { Secret } from '../../platform/secret.ts'

const secretBytes = 32

/** A new secret in the form of Standard Webhooks. */
export const createWebhookSecret = (): Secret =>
  new Secret(`whsec_${randomBytes(secretBytes).toString('base64')}`)

/** A secret that is copied to another account's row does not open there. */
export const webhookSecretOwner = (accountId: string): SecretOwner => ({
  purpose: 'webhook secret',
  name: accountId,
})

/** A new secret for an account or one of its endpoints, and how it is stored. */
export const createSealedSecret = (
  sealingSecrets: Secret[],
  accountId: string,
): { secret: Secret; sealed: Buffer } => {
  const secret = createWebhookSecret()
  const sealed = sealSecret(sealingSecrets, webhookSecretOwner(accountId), secret)
  if (sealed === undefined) throw new Error('LINK_SECRETS must hold at least one secret.')
  return { secret, sealed }
}

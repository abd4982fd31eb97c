import { createHash } from 'node:crypto'

import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Secret } from '../../platform/secret.ts'
import { deriveWebhookKeys, presentPublicKey } from '../signing/webhook-keys.ts'

const cachedSeconds = 3_600
const idCharacters = 16

/** The id is derived from the key, so that it stays the same wherever the key is in the list. */
const idOf = (publicKey: string): string =>
  createHash('sha256').update(publicKey).digest('hex').slice(0, idCharacters)

export const getWebhookKeys = ({
  sealingSecrets,
}: {
  sealingSecrets: Secret[]
}): Handler<typeof operations.getWebhookKeys> => {
  const keys = deriveWebhookKeys(sealingSecrets).map((key) => {
    const publicKey = presentPublicKey(key)
    return { id: idOf(publicKey), algorithm: 'ed25519', public_key: publicKey }
  })
  const headers = { 'cache-control': `public, max-age=${cachedSeconds}` }
  return async () => ({ headers, body: { keys } })
}

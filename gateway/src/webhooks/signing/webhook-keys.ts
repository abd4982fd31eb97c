/** The Ed25519 keys of the instance, derived from its secrets, so that nothing else must be stored or backed up. */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'

import type { Secret } from '../../platform/secret.ts'

/** The beginning of an Ed25519 private key in PKCS #8. The 32 bytes of the key follow. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')
const spkiHeadBytes = 12

/** One key for each secret, the newest first. */
export const deriveWebhookKeys = (secrets: Secret[]): KeyObject[] =>
  secrets.map((secret) =>
    createPrivateKey({
      key: Buffer.concat([
        pkcs8Head,
        Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'kinora webhook signature', 32)),
      ]),
      format: 'der',
      type: 'pkcs8',
    }),
  )

/** In the form of Standard Webhooks: `whpk_<base64>`. */
export const presentPublicKey = (privateKey: KeyObject): string => {
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return `whpk_${spki.subarray(spkiHeadBytes).toString('base64')}`
}

/** Signatures of Standard Webhooks: `v1` is an HMAC with the secret of the endpoint, `v1a` an Ed25519 signature of the instance. */
import { createHmac, sign, type KeyObject } from 'node:crypto'

import type { Secret } from '../../platform/secret.ts'

const prefix = 'whsec_'

/** The bytes of a secret in the form `whsec_<base64>`. */
const keyOf = (secret: Secret): Buffer => Buffer.from(secret.reveal().slice(prefix.length), 'base64')

export interface SignedMessage {
  /** The id of the event; the same at every attempt. */
  id: string
  /** Seconds since 1970; of this attempt. */
  timestamp: number
  body: string
}

/** One signature for each secret and each private key, so that receivers can change them without a gap. */
export const signWebhook = (
  { id, timestamp, body }: SignedMessage,
  secrets: Secret[],
  privateKeys: KeyObject[],
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> => {
  const signed = `${id}.${timestamp}.${body}`
  const signatures = [
    ...secrets.map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(signed).digest('base64')}`),
    ...privateKeys.map((key) => `v1a,${sign(null, Buffer.from(signed), key).toString('base64')}`),
  ]
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}

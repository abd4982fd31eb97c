/**
 * Keeps a provider's key in the record so that the record alone does not give it away: it is sealed under a secret that
 * is configured and never stored. What was sealed for one provider opens for no other.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

import { Secret } from '../platform/secret.ts'

/** How the bytes are laid out: this one, 12 of the nonce, 16 of the tag, and the sealed text. */
const version = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes + tagBytes

const keyOf = (secret: Secret): Buffer =>
  Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'kinora provider credential', 32))

/** What the seal covers beside the text. */
const boundTo = (provider: string): Buffer =>
  Buffer.concat([Buffer.of(version), Buffer.from(provider, 'utf8')])

/** Seals under the newest secret; undefined where none is configured. */
export const sealCredential = (
  secrets: Secret[],
  provider: string,
  credential: Secret,
): Buffer | undefined => {
  const [newest] = secrets
  if (newest === undefined) return undefined
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(newest), nonce, { authTagLength: tagBytes })
  cipher.setAAD(boundTo(provider))
  const sealed = Buffer.concat([cipher.update(credential.reveal(), 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), sealed])
}

const openWith = (secret: Secret, provider: string, sealed: Buffer): Secret | undefined => {
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), nonce, { authTagLength: tagBytes })
  decipher.setAAD(boundTo(provider))
  decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes))
  const opened = decipher.update(sealed.subarray(headBytes))
  try {
    return new Secret(Buffer.concat([opened, decipher.final()]).toString('utf8'))
  } catch {
    // The seal does not fit: another secret, another provider, or bytes that were changed.
    return undefined
  }
}

/** Opens with whichever of the secrets fits; undefined where none does. */
export const openCredential = (secrets: Secret[], provider: string, sealed: Buffer): Secret | undefined => {
  if (sealed[0] !== version || sealed.length < headBytes) return undefined
  for (const secret of secrets) {
    const credential = openWith(secret, provider, sealed)
    if (credential !== undefined) return credential
  }
  return undefined
}

/**
 * Encrypts providers' keys for the database with AES-256-GCM under a configured secret that is never stored. The
 * provider's name is authenticated too, so a ciphertext is useless for any other provider.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

import { Secret } from '../platform/secret.ts'

/** The first byte. The nonce, the tag and the ciphertext follow. */
const version = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes + tagBytes

const keyOf = (secret: Secret): Buffer =>
  Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'kinora provider credential', 32))

/** Additional authenticated data. */
const associatedData = (provider: string): Buffer =>
  Buffer.concat([Buffer.of(version), Buffer.from(provider, 'utf8')])

/** Encrypts under the first secret, the newest; returns undefined if none is configured. */
export const sealCredential = (
  secrets: Secret[],
  provider: string,
  credential: Secret,
): Buffer | undefined => {
  const [newest] = secrets
  if (newest === undefined) return undefined
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(newest), nonce, { authTagLength: tagBytes })
  cipher.setAAD(associatedData(provider))
  const sealed = Buffer.concat([cipher.update(credential.reveal(), 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), sealed])
}

const openWith = (secret: Secret, provider: string, sealed: Buffer): Secret | undefined => {
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), nonce, { authTagLength: tagBytes })
  decipher.setAAD(associatedData(provider))
  decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes))
  const opened = decipher.update(sealed.subarray(headBytes))
  try {
    return new Secret(Buffer.concat([opened, decipher.final()]).toString('utf8'))
  } catch {
    // Another secret, another provider, or changed bytes.
    return undefined
  }
}

/** Decrypts with the first secret that fits; returns undefined if none does. */
export const openCredential = (secrets: Secret[], provider: string, sealed: Buffer): Secret | undefined => {
  if (sealed[0] !== version || sealed.length < headBytes) return undefined
  for (const secret of secrets) {
    const credential = openWith(secret, provider, sealed)
    if (credential !== undefined) return credential
  }
  return undefined
}

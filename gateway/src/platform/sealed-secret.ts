/**
 * Encrypts secrets for the database with AES-256-GCM under a configured secret that is never stored. What the secret belongs to
 * is authenticated too, so a ciphertext is useless for anything else.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

import { Secret } from './secret.ts'

/** What a sealed secret belongs to. */
export interface SecretOwner {
  /** Each purpose has a key of its own. */
  purpose: 'provider credential' | 'webhook secret'
  name: string
}

/** The first byte. The nonce, the tag and the ciphertext follow. */
const version = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes + tagBytes

const keyOf = (secret: Secret, { purpose }: SecretOwner): Buffer =>
  Buffer.from(hkdfSync('sha256', secret.reveal(), '', `kinora ${purpose}`, 32))

/** Additional authenticated data. */
const associatedData = ({ name }: SecretOwner): Buffer =>
  Buffer.concat([Buffer.of(version), Buffer.from(name, 'utf8')])

/** Encrypts under the first secret, the newest; returns undefined if none is configured. */
export const sealSecret = (secrets: Secret[], owner: SecretOwner, plain: Secret): Buffer | undefined => {
  const [newest] = secrets
  if (newest === undefined) return undefined
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(newest, owner), nonce, { authTagLength: tagBytes })
  cipher.setAAD(associatedData(owner))
  const sealed = Buffer.concat([cipher.update(plain.reveal(), 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), sealed])
}

const openWith = (secret: Secret, owner: SecretOwner, sealed: Buffer): Secret | undefined => {
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret, owner), nonce, { authTagLength: tagBytes })
  decipher.setAAD(associatedData(owner))
  decipher.setAuthTag(sealed.subarray(1 + nonceBytes, headBytes))
  const opened = decipher.update(sealed.subarray(headBytes))
  try {
    return new Secret(Buffer.concat([opened, decipher.final()]).toString('utf8'))
  } catch {
    // Another secret, another owner, or changed bytes.
    return undefined
  }
}

/** Decrypts with the first secret that fits; returns undefined if none does. */
export const openSecret = (secrets: Secret[], owner: SecretOwner, sealed: Buffer): Secret | undefined => {
  if (sealed[0] !== version || sealed.length < headBytes) return undefined
  for (const secret of secrets) {
    const plain = openWith(secret, owner, sealed)
    if (plain !== undefined) return plain
  }
  return undefined
}

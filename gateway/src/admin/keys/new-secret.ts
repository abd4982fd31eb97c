import { createKeyText, hashKey, hintOf, type KeyKind } from '../../auth/key-text.ts'
import type { Secret } from '../../platform/secret.ts'

/** A new secret, with the hash and the hint that are stored. */
export const newSecret = (kind: KeyKind, keySecret: Secret) => {
  const text = createKeyText(kind)
  return { text, hash: hashKey(text, keySecret), hint: hintOf(text) }
}

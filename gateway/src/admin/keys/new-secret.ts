import { createKeyText, hashKey, hintOf, type KeyKind } from '../../auth/key-text.ts'
import type { Secret } from '../../platform/secret.ts'

/** A secret of this kind, with what is kept of it. */
export const newSecret = (kind: KeyKind, keySecret: Secret) => {
  const text = createKeyText(kind)
  return { text, hash: hashKey(text, keySecret), hint: hintOf(text) }
}

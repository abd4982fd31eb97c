import type { Key } from '@kinora/contract/operations/admin/keys'

import type { Database } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { notFound } from '../given-id.ts'
import { changeSecret, findKeyRecord, type KeyRecord } from './key-record-store.ts'
import { newSecret } from './new-secret.ts'
import { presentKey } from './present-key.ts'

/** Gives a locked key a new secret. Both secrets share the key's limits and usage during the overlap. */
export const rotateSecret = async (
  database: Database,
  { id, kind }: Pick<KeyRecord, 'id' | 'kind'>,
  overlapSeconds: number,
  { keySecret, currency }: { keySecret: Secret; currency: string },
): Promise<{ key: Key; secret: string }> => {
  const { text, hash, hint } = newSecret(kind, keySecret)
  await changeSecret(database, id, { hash, hint, overlapSeconds })
  const changed = await findKeyRecord(database, id)
  if (changed === undefined) throw notFound('key')
  return { key: presentKey(changed, currency), secret: text }
}

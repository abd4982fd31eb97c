import type { adminOperations } from '@kinora/contract/admin-operations'
import { RotateBody } from '@kinora/contract/operations/admin/keys'

import { setKeyLimits } from '../../billing/spending/spending-store.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { uuidV7 } from '../../platform/uuid.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { assertMayManage } from './assert-may-manage.ts'
import { addKey, changeSecret, findKeyRecord, lockKeyRecord, type KeyRecord } from './key-record-store.ts'
import { newSecret } from './new-secret.ts'
import { presentKey } from './present-key.ts'

/**
 * Keeps the old secret working as a separate key that expires at the end of the overlap. The key itself keeps its id, so
 * that its usage and quota continue; the old secret gets the remaining quota.
 */
const keepOldSecret = async (
  database: Database,
  key: KeyRecord,
  oldHash: Buffer,
  overlapSeconds: number,
): Promise<string> => {
  const { accountId, kind, hint, quotaMicros, usedMicros, budgets } = key
  const id = uuidV7()
  const overlapEndsMs = Date.now() + overlapSeconds * 1000
  const expiresAt = new Date(Math.min(overlapEndsMs, key.expiresAt?.getTime() ?? Infinity))
  const name = `${key.name.slice(0, 180)} (old secret)`.trim()
  const old = { id, accountId, kind, hash: oldHash, hint, isOldSecret: true }
  await addKey(database, old, { ...key, name, expiresAt })
  const leftMicros = quotaMicros === null ? undefined : Math.max(0, quotaMicros - usedMicros)
  await setKeyLimits(database, id, { quotaMicros: leftMicros, budgets })
  return id
}

export const rotateKey =
  ({
    postgres,
    keySecret,
    forgetKeys,
  }: {
    postgres: Postgres
    keySecret: Secret
    forgetKeys: () => void
  }): AdminHandler<typeof adminOperations.rotateKey> =>
  async (call) => {
    const id = givenId(call, 'key')
    const { overlap_seconds: overlapSeconds = 0 } = call.read(RotateBody)
    const body = await postgres.transaction(async (database) => {
      const present = await lockKeyRecord(database, id)
      if (present === undefined) throw notFound('key')
      assertMayManage(call.operator, present)
      const { text, hash, hint } = newSecret(present.kind, keySecret)
      const oldHash = await changeSecret(database, id, { hash, hint })
      const oldKeyId =
        overlapSeconds === 0 ? null : await keepOldSecret(database, present, oldHash, overlapSeconds)
      const changed = await findKeyRecord(database, id)
      if (changed === undefined) throw notFound('key')
      const key = presentKey(changed, call.operator.currency)
      await call.audit(database, {
        action: 'rotateKey',
        target: id,
        before: presentKey(present, call.operator.currency),
        after: { ...key, old_secret_key_id: oldKeyId },
      })
      return { key, secret: text }
    })
    forgetKeys()
    return { body }
  }

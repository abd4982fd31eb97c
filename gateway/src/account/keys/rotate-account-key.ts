import { RotateBody } from '@kinora/contract/key-fields'
import type { operations } from '@kinora/contract/operations'

import { givenId } from '../../admin/given-id.ts'
import { presentKey } from '../../admin/keys/present-key.ts'
import { rotateSecret } from '../../admin/keys/rotate-secret.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { SelfServiceHandler } from '../self-service-call.ts'
import { assertWithin, findOwnKey, lockCallingKey, type KeyRules } from './manage-keys.ts'
import { presentAccountKey } from './present-account-key.ts'

export const rotateAccountKey =
  ({
    postgres,
    keySecret,
    forgetKeys,
    ...rules
  }: KeyRules & { postgres: Postgres; keySecret: Secret; forgetKeys: () => void }): SelfServiceHandler<
    typeof operations.rotateAccountKey
  > =>
  async (call) => {
    const id = givenId(call, 'key')
    const { overlap_seconds: overlapSeconds = 0 } = call.read(RotateBody)
    const { currency } = call.caller
    const body = await postgres.transaction(async (database) => {
      const own = await lockCallingKey(database, call.caller)
      const present = await findOwnKey(database, id, call.caller)
      // Who knows the new secret has the rights of the key.
      assertWithin(own, present, rules)
      const { key, secret } = await rotateSecret(database, present, overlapSeconds, { keySecret, currency })
      await call.audit(database, {
        action: 'rotateAccountKey',
        target: id,
        before: presentKey(present, currency),
        after: key,
      })
      return { key: presentAccountKey(key), secret }
    })
    forgetKeys()
    return { body }
  }

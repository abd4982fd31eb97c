import type { operations } from '@kinora/contract/operations'
import { AccountKeyBody } from '@kinora/contract/operations/keys'

import { givenId } from '../../admin/given-id.ts'
import { changeKey } from '../../admin/keys/key-record-store.ts'
import { presentKey } from '../../admin/keys/present-key.ts'
import { readKeyChange, readSpendingLimits } from '../../admin/keys/read-key-change.ts'
import { readAmounts } from '../../admin/read-amounts.ts'
import { setKeyLimits } from '../../billing/spending/spending-store.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { SelfServiceHandler } from '../self-service-call.ts'
import { assertWithin, findOwnKey, lockCallingKey, type KeyRules } from './manage-keys.ts'
import { presentAccountKey } from './present-account-key.ts'

export const updateAccountKey =
  ({
    postgres,
    forgetKeys,
    ...rules
  }: KeyRules & { postgres: Postgres; forgetKeys: () => void }): SelfServiceHandler<
    typeof operations.updateAccountKey
  > =>
  async (call) => {
    const id = givenId(call, 'key')
    const { currency } = call.caller
    const given = readAmounts(call, AccountKeyBody, currency)
    const spending = readSpendingLimits(given)
    const body = await postgres.transaction(async (database) => {
      const own = await lockCallingKey(database, call.caller)
      const present = await findOwnKey(database, id, call.caller)
      const settings = readKeyChange(present, given, rules.catalog)
      const { quotaMicros = present.quotaMicros, budgets = present.budgets } = spending
      assertWithin(own, { ...present, ...settings, quotaMicros, budgets }, rules)
      await changeKey(database, id, settings)
      await setKeyLimits(database, id, spending)
      const after = presentKey(await findOwnKey(database, id, call.caller), currency)
      await call.audit(database, {
        action: 'updateAccountKey',
        target: id,
        before: presentKey(present, currency),
        after,
      })
      return presentAccountKey(after)
    })
    forgetKeys()
    return { body }
  }

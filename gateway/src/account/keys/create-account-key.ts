import { ApiError } from '@kinora/contract/errors'
import { defaultScopes } from '@kinora/contract/key-scope'
import type { operations } from '@kinora/contract/operations'
import { AccountKeyBody } from '@kinora/contract/operations/keys'

import { addOneKey, newKeySettings } from '../../admin/keys/add-one-key.ts'
import { countKeys } from '../../admin/keys/key-record-store.ts'
import { readKeyChange, readSpendingLimits } from '../../admin/keys/read-key-change.ts'
import { readAmounts } from '../../admin/read-amounts.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { SelfServiceHandler } from '../self-service-call.ts'
import { assertWithin, lockCallingKey, type KeyRules } from './manage-keys.ts'
import { presentAccountKey } from './present-account-key.ts'

/** Bounds the rows of an account, and how often its rate limits per key can multiply. */
const keysMax = 100

export const createAccountKey =
  ({
    postgres,
    keySecret,
    ...rules
  }: KeyRules & { postgres: Postgres; keySecret: Secret }): SelfServiceHandler<
    typeof operations.createAccountKey
  > =>
  async (call) => {
    const { accountId, kind, currency } = call.caller
    const given = readAmounts(call, AccountKeyBody, currency)
    const spending = readSpendingLimits(given)
    const created = await postgres.transaction(async (database) => {
      const own = await lockCallingKey(database, call.caller)
      const { name, isDisabled } = newKeySettings
      const usual = own.scopes.filter((scope) => defaultScopes.includes(scope))
      const scopes = usual.length === 0 ? own.scopes : usual
      const settings = readKeyChange({ ...own, name, isDisabled, scopes }, given, rules.catalog)
      const { quotaMicros = null, budgets = [] } = spending
      assertWithin(own, { ...settings, id: '', kind, quotaMicros, budgets }, rules)
      if ((await countKeys(database, accountId)) >= keysMax) {
        throw new ApiError('conflict', {
          message: `The account has ${keysMax} keys, which is the maximum. Delete one that is no longer used.`,
        })
      }
      const key = { accountId, kind, settings, spending }
      return addOneKey(database, call, 'createAccountKey', key, { keySecret, currency })
    })
    return { body: { key: presentAccountKey(created.key), secret: created.secret } }
  }

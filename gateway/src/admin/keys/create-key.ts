import type { adminOperations } from '@kinora/contract/admin-operations'
import { KeyBody } from '@kinora/contract/operations/admin/keys'

import type { KeyKind } from '../../auth/key-text.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { lockAccount } from '../accounts/account-store.ts'
import { assertNotErased } from '../accounts/assert-not-erased.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId } from '../given-id.ts'
import { readAmounts } from '../read-amounts.ts'
import { addOneKey, newKeySettings } from './add-one-key.ts'
import { readKeyChange, readSpendingLimits } from './read-key-change.ts'

export const createKey =
  ({
    postgres,
    catalog,
    keySecret,
  }: {
    postgres: Postgres
    catalog: Catalog
    keySecret: Secret
  }): AdminHandler<typeof adminOperations.createKey> =>
  async (call) => {
    const accountId = givenId(call, 'account')
    const { kind, ...given } = readAmounts(call, KeyBody, call.operator.currency)
    const settings = readKeyChange(newKeySettings, given, catalog)
    const spending = readSpendingLimits(given)
    const body = await postgres.transaction(async (database) => {
      assertNotErased(await lockAccount(database, accountId))
      const key = { accountId, kind: kind as KeyKind, settings, spending }
      return addOneKey(database, call, 'createKey', key, { keySecret, currency: call.operator.currency })
    })
    return { body }
  }

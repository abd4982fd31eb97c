import type { adminOperations } from '@kinora/contract/admin-operations'
import { KeyBody } from '@kinora/contract/operations/admin/keys'

import type { KeyKind } from '../../auth/key-text.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { findAccount } from '../accounts/account-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
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
    const { kind, ...given } = readAmounts(call, KeyBody)
    const settings = readKeyChange(newKeySettings, given, catalog)
    const spending = readSpendingLimits(given)
    const body = await postgres.transaction(async (database) => {
      if ((await findAccount(database, accountId)) === undefined) throw notFound('account')
      const key = { accountId, kind: kind as KeyKind, settings, spending }
      return addOneKey(database, call, 'createKey', key, keySecret)
    })
    return { body }
  }

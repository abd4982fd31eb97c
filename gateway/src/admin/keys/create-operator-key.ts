import type { adminOperations } from '@kinora/contract/admin-operations'
import { OperatorKeyBody } from '@kinora/contract/operations/admin/keys'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { addOneKey, newKeySettings } from './add-one-key.ts'

export const createOperatorKey =
  ({
    postgres,
    keySecret,
  }: {
    postgres: Postgres
    keySecret: Secret
  }): Handler<typeof adminOperations.createOperatorKey> =>
  async (call) => {
    const { name } = call.read(OperatorKeyBody)
    const settings = { ...newKeySettings, name }
    const key = { accountId: null, kind: 'admin' as const, settings, spending: {} }
    const body = await postgres.transaction((database) =>
      addOneKey(database, call, 'createOperatorKey', key, keySecret),
    )
    return { body }
  }

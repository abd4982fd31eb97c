import type { adminOperations } from '@kinora/contract/admin-operations'
import { OperatorKeyBody } from '@kinora/contract/operations/admin/keys'
import { operatorKeyDays, type OperatorRole } from '@kinora/contract/operator-key'

import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { AdminHandler } from '../admin-call.ts'
import { timeOfSeconds } from '../unix-time.ts'
import { addOneKey, newKeySettings } from './add-one-key.ts'

const inDays = (days: number) => Math.floor(Date.now() / 1000) + days * 86_400

export const createOperatorKey =
  ({
    postgres,
    keySecret,
  }: {
    postgres: Postgres
    keySecret: Secret
  }): AdminHandler<typeof adminOperations.createOperatorKey> =>
  async (call) => {
    const { name, role, expires_at: expiresAt = inDays(operatorKeyDays) } = call.read(OperatorKeyBody)
    const settings = {
      ...newKeySettings,
      name,
      role: role as OperatorRole,
      expiresAt: expiresAt === null ? null : timeOfSeconds(expiresAt),
    }
    const key = { accountId: null, kind: 'admin' as const, settings, spending: {} }
    const body = await postgres.transaction((database) =>
      addOneKey(database, call, 'createOperatorKey', key, { keySecret, currency: call.operator.currency }),
    )
    return { body }
  }

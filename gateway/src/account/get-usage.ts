import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { customerView, readUsage } from '../usage/read-usage.ts'

export const getUsage =
  ({ postgres }: { postgres: Postgres }): Handler<typeof operations.getUsage> =>
  async ({ query, caller: { accountId, keyId, currency } }) => {
    const scope = query.scope === 'account' ? { accountId } : { accountId, keyId }
    return readUsage(postgres, query, { ...scope, currency }, customerView)
  }

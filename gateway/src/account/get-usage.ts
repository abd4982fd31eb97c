import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { accountGroups, readUsage } from '../usage/read-usage.ts'

export const getUsage =
  ({ postgres }: { postgres: Postgres }): Handler<typeof operations.getUsage> =>
  async ({ query, caller: { accountId, keyId, currency } }) => {
    const scope = query.scope === 'account' ? { accountId } : { accountId, keyId }
    return { body: await readUsage(postgres, query, { ...scope, currency }, accountGroups) }
  }

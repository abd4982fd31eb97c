import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { listStatementMonths } from '../../statements/read-statement.ts'
import { givenId, notFound } from '../given-id.ts'

export const listAccountStatements =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.listAccountStatements> =>
  async (call) => {
    const data = await listStatementMonths(postgres, givenId(call, 'account'))
    if (data === undefined) throw notFound('account')
    return { body: { object: 'list', data, next: null } }
  }

import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { listStatementMonths } from '../statements/read-statement.ts'

export const listStatements =
  ({ postgres }: { postgres: Postgres }): Handler<typeof operations.listStatements> =>
  async ({ caller: { accountId } }) => {
    const data = await listStatementMonths(postgres, accountId)
    if (data === undefined) throw new ApiError('internal_error')
    return { body: { object: 'list', data, next: null } }
  }

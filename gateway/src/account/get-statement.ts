import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { formatStatementResponse } from '../statements/format-statement-response.ts'
import type { Issuer } from '../statements/issuer.ts'
import { readStatement } from '../statements/read-statement.ts'

export const getStatement =
  ({ postgres, issuer }: { postgres: Postgres; issuer: Issuer }): Handler<typeof operations.getStatement> =>
  async ({ path: { month }, query, caller: { accountId, currency } }) => {
    const statement = await readStatement(postgres, { accountId, month, currency, issuer })
    if (statement === undefined) throw new ApiError('internal_error')
    return formatStatementResponse(statement, query.format, issuer)
  }

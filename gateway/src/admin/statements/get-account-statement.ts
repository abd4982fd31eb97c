import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { formatStatementResponse } from '../../statements/format-statement-response.ts'
import type { Issuer } from '../../statements/issuer.ts'
import { readStatement } from '../../statements/read-statement.ts'
import { givenId, notFound } from '../given-id.ts'

export const getAccountStatement =
  ({
    postgres,
    issuer,
  }: {
    postgres: Postgres
    issuer: Issuer
  }): Handler<typeof adminOperations.getAccountStatement> =>
  async (call) => {
    const { month } = call.path
    const { currency } = call.operator
    const accountId = givenId(call, 'account')
    const statement = await readStatement(postgres, { accountId, month, currency, issuer })
    if (statement === undefined) throw notFound('account')
    return formatStatementResponse(statement, call.query.format, issuer)
  }

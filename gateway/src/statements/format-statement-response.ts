import type { Statement } from '@kinora/contract/operations/statements'

import type { Reply } from '../http/call.ts'
import { csvHeaders } from '../platform/text/csv.ts'
import type { Issuer } from './issuer.ts'
import { formatStatementPage, statementPageHeaders } from './statement-page.ts'
import { formatStatementTable } from './statement-table.ts'

/** The response with a statement in the requested format. It has balances, so nobody caches it. */
export const formatStatementResponse = (
  statement: Statement,
  format: string | undefined,
  issuer: Issuer,
): Reply<Statement | string> => {
  const caching = { 'cache-control': 'private, no-store' }
  if (format === 'csv') {
    return {
      headers: { ...caching, ...csvHeaders(`statement-${statement.month}.csv`) },
      body: formatStatementTable(statement),
    }
  }
  if (format === 'html') {
    return {
      headers: { ...caching, ...statementPageHeaders },
      body: formatStatementPage(statement, issuer.logo),
    }
  }
  return { headers: caching, body: statement }
}

import type { adminOperations } from '@kinora/contract/admin-operations'

import { lastAudit } from '../../billing/ledger/audit-ledger.ts'
import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { presentLedgerAudit } from './present-ledger-audit.ts'

export const getLedgerAudit =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.getLedgerAudit> =>
  async () => ({ body: presentLedgerAudit(await lastAudit(postgres)) })

import type { adminOperations } from '@kinora/contract/admin-operations'

import { runFullAudit } from '../../billing/ledger/audit-ledger.ts'
import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { audited } from '../audit-log/audit.ts'
import { presentLedgerAudit } from './present-ledger-audit.ts'

export const runLedgerAudit =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.runLedgerAudit> =>
  async (call) => {
    const body = presentLedgerAudit(await runFullAudit(postgres))
    const { is_sound, duration_ms } = body
    await postgres.transaction((database) =>
      audited(database, call, { action: 'runLedgerAudit', target: null, after: { is_sound, duration_ms } }),
    )
    return { body }
  }

import type { adminOperations } from '@kinora/contract/admin-operations'

import { runFullAudit } from '../../billing/ledger/audit-ledger.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentLedgerAudit } from './present-ledger-audit.ts'

export const runLedgerAudit =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.runLedgerAudit> =>
  async (call) => {
    const body = presentLedgerAudit(await runFullAudit(postgres))
    const { is_sound, duration_ms } = body
    await postgres.transaction((database) =>
      call.audit(database, { action: 'runLedgerAudit', target: null, after: { is_sound, duration_ms } }),
    )
    return { body }
  }

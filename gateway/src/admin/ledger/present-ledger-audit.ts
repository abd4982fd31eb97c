import type { LedgerAudit } from '@kinora/contract/operations/admin/ledger'

import { isSound } from '../../billing/ledger/audit-ledger.ts'
import type { StoredAudit } from '../../billing/ledger/ledger-audit-store.ts'
import { secondsOf } from '../unix-time.ts'

export const presentLedgerAudit = ({ checkedAt, durationMs, findings }: StoredAudit): LedgerAudit => ({
  object: 'ledger.audit',
  is_sound: isSound(findings),
  checked_at: secondsOf(checkedAt),
  duration_ms: durationMs,
  findings: findings.map(({ invariant, violations, examples, meaning }) => ({
    invariant,
    violations,
    examples,
    meaning,
  })),
})

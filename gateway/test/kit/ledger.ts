import { runFullAudit } from '../../src/billing/ledger/audit-ledger.ts'
import type { Postgres } from '../../src/platform/postgres.ts'

/** The invariants that a full audit of the ledger finds broken, with examples; empty for a sound ledger. */
export const brokenInvariants = async (postgres: Postgres): Promise<string[]> => {
  const { findings } = await runFullAudit(postgres)
  return findings.flatMap(({ invariant, violations, examples }) =>
    violations === 0 ? [] : `${invariant}: ${examples.join(', ')}`,
  )
}

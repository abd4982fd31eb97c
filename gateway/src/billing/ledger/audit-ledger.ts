import { longStatementTimeoutMs } from '../../platform/database/long-statements.ts'
/**
 * Audits the ledger. A full audit runs once a day and on request; an incremental audit runs every minute and checks all
 * balances and the tasks with recent entries. Findings of the last full audit stay in the result until the next one.
 */
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import {
  checkAll,
  checkRecent,
  lockAudits,
  readAudit,
  writeAudit,
  type Finding,
  type IncrementalFindings,
  type StoredAudit,
} from './ledger-audit-store.ts'

const fullAuditEveryMs = 86_400_000
/** Entries become visible at commit. No transaction takes this long. */
const overlapMs = 300_000
/** An audit may read the whole ledger, and waits for another that does. */
const limits = { statementTimeoutMs: longStatementTimeoutMs, lockTimeoutMs: longStatementTimeoutMs }

export const isSound = (findings: Finding[]): boolean => findings.every(({ violations }) => violations === 0)

/** Combines the findings of an incremental audit with those of the last full audit. */
const mergeFindings = ({ complete, partial }: IncrementalFindings, fullAuditFindings: Finding[]): Finding[] =>
  fullAuditFindings.map((earlier) => {
    const { invariant } = earlier
    const recent = partial.find((finding) => finding.invariant === invariant)
    const isWorse = recent !== undefined && recent.violations > earlier.violations
    return complete.find((finding) => finding.invariant === invariant) ?? (isWorse ? recent : earlier)
  })

/** Checks every invariant over all entries. */
export const runFullAudit = (postgres: Postgres): Promise<StoredAudit> =>
  postgres.transaction(async (database) => {
    const checkedAt = await lockAudits(database)
    const startedMs = performance.now()
    const findings = await checkAll(database)
    const durationMs = Math.round(performance.now() - startedMs)
    const audit = { checkedAt, durationMs, findings, fullAuditAt: checkedAt, fullAuditFindings: findings }
    await writeAudit(database, audit)
    return audit
  }, limits)

/** Checks the changes since the last audit; runs a full audit if the last one is more than a day old. */
export const runIncrementalAudit = async (postgres: Postgres): Promise<StoredAudit> => {
  const last = await readAudit(postgres)
  if (last === undefined || last.fullAuditAgoMs > fullAuditEveryMs) return runFullAudit(postgres)
  return postgres.transaction(async (database) => {
    const checkedAt = await lockAudits(database)
    const { checkedAt: before, fullAuditAt, fullAuditFindings } = (await readAudit(database)) ?? last
    const startedMs = performance.now()
    const found = await checkRecent(database, new Date(before.getTime() - overlapMs))
    const durationMs = Math.round(performance.now() - startedMs)
    const audit = {
      checkedAt,
      durationMs,
      findings: mergeFindings(found, fullAuditFindings),
      fullAuditAt,
      fullAuditFindings,
    }
    await writeAudit(database, audit)
    return audit
  }, limits)
}

/** The last audit; runs the first one if there was none. */
export const lastAudit = async (postgres: Postgres): Promise<StoredAudit> =>
  (await readAudit(postgres)) ?? runFullAudit(postgres)

/** Runs every minute in each worker. Logs an error once for each newly broken invariant. */
export const createAuditTick = ({ postgres, log }: { postgres: Postgres; log: Log }, everyMs = 50_000) => {
  let logged = new Set<string>()
  return async (): Promise<void> => {
    const last = await readAudit(postgres)
    // Another worker may have run it already.
    const isFresh = last !== undefined && last.checkedAgoMs < everyMs
    const { findings } = isFresh ? last : await runIncrementalAudit(postgres)
    const found = findings.filter(({ violations }) => violations > 0)
    for (const finding of found) {
      if (!logged.has(finding.invariant)) log.error(finding, 'ledger.unsound')
    }
    logged = new Set(found.map(({ invariant }) => invariant))
  }
}

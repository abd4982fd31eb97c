/**
 * Audits the books from the record alone: all of it when an operator asks and once a day, and every minute all balances
 * and whatever has moved since. The last result is kept; what the last full one found is told until the next.
 */
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import {
  findAll,
  findRecent,
  lockAudits,
  readAudit,
  writeAudit,
  type Finding,
  type StoredAudit,
} from './ledger-audit-store.ts'

const wholeEveryMs = 86_400_000
/** A leg is seen when its transaction ends; none takes this long. */
const slackMs = 300_000

export const isSound = (findings: Finding[]): boolean => findings.every(({ violations }) => violations === 0)

/** What was found now, and where that was not all there is to look at what the full audit found beside it. */
const withStanding = (
  { whole, ofTouched }: { whole: Finding[]; ofTouched: Finding[] },
  fullAuditFindings: Finding[],
): Finding[] =>
  fullAuditFindings.map((standing) => {
    const { invariant } = standing
    const recent = ofTouched.find((finding) => finding.invariant === invariant)
    const isWorse = recent !== undefined && recent.violations > standing.violations
    return whole.find((finding) => finding.invariant === invariant) ?? (isWorse ? recent : standing)
  })

/** Looks at everything. */
export const auditWhole = (postgres: Postgres): Promise<StoredAudit> =>
  postgres.transaction(async (database) => {
    await lockAudits(database)
    const checkedAt = new Date()
    const findings = await findAll(database)
    const durationMs = Date.now() - checkedAt.getTime()
    const audit = { checkedAt, durationMs, findings, fullAuditAt: checkedAt, fullAuditFindings: findings }
    await writeAudit(database, audit)
    return audit
  })

/** Looks at what has changed since the last audit, and at everything where that was more than a day ago. */
export const auditRecent = async (postgres: Postgres): Promise<StoredAudit> => {
  const last = await readAudit(postgres)
  if (last === undefined || last.fullAuditAt.getTime() < Date.now() - wholeEveryMs)
    return auditWhole(postgres)
  return postgres.transaction(async (database) => {
    await lockAudits(database)
    const { checkedAt: before, fullAuditAt, fullAuditFindings } = (await readAudit(database)) ?? last
    const checkedAt = new Date()
    const found = await findRecent(database, new Date(before.getTime() - slackMs))
    const durationMs = Date.now() - checkedAt.getTime()
    const audit = {
      checkedAt,
      durationMs,
      findings: withStanding(found, fullAuditFindings),
      fullAuditAt,
      fullAuditFindings,
    }
    await writeAudit(database, audit)
    return audit
  })
}

/** The last audit; the first one where there was none yet. */
export const lastAudit = async (postgres: Postgres): Promise<StoredAudit> =>
  (await readAudit(postgres)) ?? auditWhole(postgres)

/** What a worker does every minute: it looks, and cries out once for each thing it finds. */
export const createAuditTick = ({ postgres, log }: { postgres: Postgres; log: Log }, everyMs = 50_000) => {
  let told = new Set<string>()
  return async (): Promise<void> => {
    const last = await readAudit(postgres)
    // Another worker has looked.
    const isFresh = last !== undefined && last.checkedAt.getTime() > Date.now() - everyMs
    const { findings } = isFresh ? last : await auditRecent(postgres)
    const found = findings.filter(({ violations }) => violations > 0)
    for (const finding of found) {
      if (!told.has(finding.invariant)) log.error(finding, 'ledger.unsound')
    }
    told = new Set(found.map(({ invariant }) => invariant))
  }
}

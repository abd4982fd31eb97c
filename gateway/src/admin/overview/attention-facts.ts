/** The facts that attention is derived from: those of the alerts, and a few that have none. */
import { isSound } from '../../billing/ledger/audit-ledger.ts'
import { readAudit } from '../../billing/ledger/ledger-audit-store.ts'
import type { ModelConfig } from '../../models/model.ts'
import { heartbeat } from '../../platform/engine/supervise-engine.ts'
import { findJobAge } from '../../platform/engine/tick-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { readOldestHolds, type OldestHolds } from '../../readings/money-readings-store.ts'
import type { TaskReading, VideoReading } from '../../readings/task-readings-store.ts'
import {
  findExpiringKeys,
  findLateRemovals,
  findWebhookProblems,
  type ExpiringKeys,
  type WebhookProblems,
} from './attention-store.ts'

export const removalHoursMax = 6

/** What changes slowly, and is read rarely. */
export interface SlowFacts {
  audit: { isSound: boolean; violations: number; checkedAgoMs: number; fullAuditAgoMs: number } | undefined
  holds: OldestHolds
  keys: ExpiringKeys[]
  webhooks: WebhookProblems
  removals: { removals: number; since: Date | null }
}

export const readSlowFacts = async (database: Database): Promise<SlowFacts> => {
  const audit = await readAudit(database)
  return {
    audit: audit && {
      isSound: isSound(audit.findings),
      violations: audit.findings.reduce((sum, { violations }) => sum + violations, 0),
      checkedAgoMs: audit.checkedAgoMs,
      fullAuditAgoMs: audit.fullAuditAgoMs,
    },
    holds: await readOldestHolds(database),
    keys: await findExpiringKeys(database),
    webhooks: await findWebhookProblems(database),
    removals: await findLateRemovals(database, removalHoursMax),
  }
}

/** The seconds since a worker reached the engine; undefined if none ever did. */
export const findWorkerAge = (database: Database): Promise<number | undefined> =>
  findJobAge(database, heartbeat.loop, heartbeat.key)

/** A provider that gets no new work, or soon none. */
export interface ProviderFacts {
  name: string
  /** Why its configuration cannot be used. */
  problem: string | null
  refusesCredential: boolean
  /** Models whose circuit breaker is open. */
  openModels: string[]
  reason: string | null
  budget: { isSpent: boolean; isStopped: boolean; isAlerted: boolean; share: number } | undefined
}

export interface Facts {
  slow: SlowFacts
  /** In seconds. */
  now: number
  workerAge: number | undefined
  videos: VideoReading[]
  transcriptions: TaskReading[]
  providers: ProviderFacts[]
  models: Pick<ModelConfig, 'id' | 'state' | 'shutdownDate' | 'successor'>[]
  freeBytes: number | undefined
  storageProblem: string | undefined
}

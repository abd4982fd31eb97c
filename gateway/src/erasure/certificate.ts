/**
 * The certificate of an erasure. Its signature is a keyed hash, as in the audit log, so that write access to the database is
 * not enough to make one.
 */
import { createHmac, hkdfSync } from 'node:crypto'

import type { Database } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import { canonicalJson } from '../platform/text/canonical-json.ts'
import { emptiedTables, erasedTables, keptTables } from './account-tables.ts'
import { countJobRemovals, countKept, readBalances, type LeftBalance } from './content-store.ts'
import type { Erasure } from './erasure-store.ts'

export interface Certificate {
  account_id: string
  operator_key_id: string | null
  /** Times are Unix seconds. */
  requested_at: number
  finished_at: number
  /** Deleted rows by table. */
  deleted_rows: Record<string, number>
  /** Rows that lost their names and texts, by table, and what they lost. */
  emptied: { table: string; rows: number; columns: string }[]
  files: { objects: number; size_bytes: number }
  /** Jobs at providers. The deletion of the pending ones is tried for 30 days. */
  provider_jobs: { requested: number; pending: number }
  /** Rows that stay, and why. */
  kept: { table: string; rows: number; reason: string }[]
  balances: LeftBalance[]
  backups: string
  /** HMAC-SHA-256 of the other fields, hexadecimal. */
  signature: string
}

const secondsOf = (time: Date) => Math.floor(time.getTime() / 1000)

const sign = (secret: Secret, content: object): string =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'kinora erasure certificate', 32)))
    .update(canonicalJson(content))
    .digest('hex')

/** Whether one of these secrets has signed the certificate. */
export const isAuthentic = ({ signature, ...content }: Certificate, secrets: Secret[]): boolean =>
  secrets.some((secret) => sign(secret, content) === signature)

export const makeCertificate = async (
  database: Database,
  { accountId, operatorKeyId, requestedAt, counts }: Erasure,
  { finishedAt, secrets: [secret] }: { finishedAt: Date; secrets: Secret[] },
): Promise<Certificate> => {
  if (secret === undefined) throw new Error('AUDIT_SECRETS must hold at least one secret.')
  const kept = await countKept(database, accountId)
  const content = {
    account_id: accountId,
    operator_key_id: operatorKeyId,
    requested_at: secondsOf(requestedAt),
    finished_at: secondsOf(finishedAt),
    deleted_rows: Object.fromEntries(erasedTables.map((table) => [table, counts[table] ?? 0])),
    emptied: Object.entries(emptiedTables).map(([table, columns]) => ({
      ...{ table, columns },
      rows: table === 'accounts' ? 1 : (counts[table] ?? 0),
    })),
    files: { objects: counts['files'] ?? 0, size_bytes: counts['bytes'] ?? 0 },
    provider_jobs: {
      requested: counts['jobs'] ?? 0,
      pending: await countJobRemovals(database, accountId),
    },
    kept: Object.entries(kept).map(([table, rows]) => ({
      ...{ table, rows },
      reason: { ...keptTables, ...emptiedTables }[table as keyof typeof keptTables],
    })),
    balances: await readBalances(database, accountId),
    backups:
      'Backups and archives of the write-ahead log that were made before finished_at have the data until they are deleted. kinora restore repeats this erasure.',
  }
  return { ...content, signature: sign(secret, content) }
}

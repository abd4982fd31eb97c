import type { Database } from '../../platform/postgres.ts'
import { filter } from '../filter.ts'

export interface AuditRecord {
  sequence: number
  at: Date
  actor: string
  action: string
  target: string | null
  before: unknown
  after: unknown
  /** Null for a change that was made on the command line. */
  requestId: string | null
  hash: Buffer
}

const columns = 'sequence, at, actor, action, target, before, after, request_id as "requestId", hash'

/** Locks the log against other writers until the transaction ends; returns the newest entry. */
export const lockAuditLog = async (
  database: Database,
): Promise<Pick<AuditRecord, 'sequence' | 'hash'> | undefined> => {
  await database.query("select pg_advisory_xact_lock(hashtextextended('kinora:audit-log', 0))")
  const { rows } = await database.query<Pick<AuditRecord, 'sequence' | 'hash'>>(
    'select sequence, hash from audit_log order by sequence desc limit 1',
  )
  return rows[0]
}

export const insertAuditRecord = async (database: Database, entry: AuditRecord): Promise<void> => {
  const stored = (value: unknown) => (value === null ? null : JSON.stringify(value))
  await database.query(
    `insert into audit_log (sequence, at, actor, action, target, before, after, request_id, hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      entry.sequence,
      entry.at,
      entry.actor,
      entry.action,
      entry.target,
      stored(entry.before),
      stored(entry.after),
      entry.requestId,
      entry.hash,
    ],
  )
}

/** Entries after this sequence number, oldest first. */
export const auditRecordsAfter = async (
  database: Database,
  sequence: number,
  limit: number,
): Promise<AuditRecord[]> => {
  const { rows } = await database.query<AuditRecord & Record<string, unknown>>(
    `select ${columns} from audit_log where sequence > $1 order by sequence limit $2`,
    [sequence, limit],
  )
  return rows
}

/** The present names of the accounts and keys with these ids. Other ids, and erased names, are left out. */
export const namesOf = async (database: Database, ids: string[]): Promise<Map<string, string>> => {
  const { rows } = await database.query<{ id: string; name: string }>(
    `select id::text, name from keys where id = any($1::uuid[]) and name <> ''
     union all select id::text, name from accounts where id = any($1::uuid[]) and name <> ''`,
    [ids],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export interface AuditFilter {
  action: string | undefined
  target: string | undefined
  from: Date | undefined
  to: Date | undefined
  /** Only entries before this sequence number. */
  after: string[] | undefined
  limit: number
}

/** The matching entries, newest first. */
export const listAuditRecords = async (database: Database, given: AuditFilter): Promise<AuditRecord[]> => {
  const { where, values } = filter([
    ['action = ?', given.action],
    ['target = ?', given.target],
    ['at >= ?', given.from],
    ['at < ?', given.to],
    ['sequence < ?::bigint', ...(given.after ?? [])],
  ])
  const { rows } = await database.query<AuditRecord & Record<string, unknown>>(
    `select ${columns} from audit_log ${where} order by sequence desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}

/**
 * The audit log of operator actions. The hash of an entry covers the entry and the previous hash, so that changing,
 * removing, or moving an entry breaks every later hash. Truncation at the end, or a rewrite of the whole log, can only
 * be detected by comparing with a copy of the newest hash stored elsewhere.
 */
import { createHash } from 'node:crypto'

import type { Call } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { auditRecordsAfter, insertAuditRecord, lockAuditLog, type AuditRecord } from './audit-store.ts'

/** The content of an entry. It must not contain secrets or their hashes. */
export interface Change {
  /** The operation's id. */
  action: string
  target: string | null
  before?: unknown
  after?: unknown
}

const genesisHash = Buffer.alloc(32)
const entriesPerRead = 1_000

/** JSON with sorted members, because jsonb does not preserve their order. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

const hashOf = (previous: Buffer, { at, ...entry }: Omit<AuditRecord, 'hash'>): Buffer =>
  createHash('sha256')
    .update(previous)
    .update(canonical({ ...entry, at: at.toISOString() }))
    .digest()

/** The value as it will be read back from the database: without undefined members, dates as text. */
const plain = (value: unknown): unknown =>
  value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown)

/**
 * Writes an audit entry in the transaction of the change. It serializes transactions from here to their commit, so call
 * it last, except for checks that must see every earlier change.
 */
export const audited = async (
  database: Database,
  { operator, requestId }: Pick<Call, 'operator' | 'requestId'>,
  { action, target, before, after }: Change,
): Promise<void> => {
  const newest = await lockAuditLog(database)
  const entry = {
    sequence: (newest?.sequence ?? 0) + 1,
    at: new Date(),
    actor: actorOf(operator),
    action,
    target,
    before: plain(before),
    after: plain(after),
    requestId,
  }
  await insertAuditRecord(database, { ...entry, hash: hashOf(newest?.hash ?? genesisHash, entry) })
}

/** The name of an operator in logs and movements. */
export const actorOf = ({ name, hint }: Call['operator']): string => `${name} ${hint}`

export interface Verification {
  entries: number
  /** The sequence number of the first entry that is missing or whose hash does not match. */
  brokenAt: number | undefined
  head: Buffer | undefined
}

export const verifyAudit = async (database: Database): Promise<Verification> => {
  let entries = 0
  let head: Buffer | undefined
  for (;;) {
    // Starts below the first number, to detect entries inserted before it.
    const after = entries === 0 ? Number.MIN_SAFE_INTEGER : entries
    const page = await auditRecordsAfter(database, after, entriesPerRead)
    for (const { hash, ...entry } of page) {
      const isValid = entry.sequence === entries + 1 && hash.equals(hashOf(head ?? genesisHash, entry))
      if (!isValid) return { entries, brokenAt: entries + 1, head }
      entries += 1
      head = hash
    }
    if (page.length < entriesPerRead) return { entries, brokenAt: undefined, head }
  }
}

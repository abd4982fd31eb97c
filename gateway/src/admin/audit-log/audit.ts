/**
 * The log of what operators did. An entry's hash covers the entry and the hash before it, so that none can be
 * changed, taken out or moved without every later hash telling. Only who notes the newest hash elsewhere can tell
 * that entries were cut off at the end, or that the whole log was written anew.
 */
import { createHash } from 'node:crypto'

import type { Call } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { auditRecordsAfter, insertAuditRecord, lockAuditLog, type AuditRecord } from './audit-store.ts'

/** What is written down of a change. Secrets and their hashes have no place in it. */
export interface Change {
  /** The operation's id. */
  action: string
  target: string | null
  before?: unknown
  after?: unknown
}

const beginning = Buffer.alloc(32)
const entriesPerRead = 1_000

/** JSON with its members in a fixed order: the database keeps what they say, not how they stood. */
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

/** As it will be read back: without members that are undefined, dates as text. */
const plain = (value: unknown): unknown =>
  value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown)

/**
 * Writes down what an operator changed, in the transaction that changes it. Changes take turns from here on until
 * they are committed, so this comes last but for what must see every change before this one.
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
  await insertAuditRecord(database, { ...entry, hash: hashOf(newest?.hash ?? beginning, entry) })
}

/** How an operator is named wherever it is written who did something. */
export const actorOf = ({ name, hint }: Call['operator']): string => `${name} ${hint}`

export interface Verification {
  entries: number
  /** The first entry that does not fit what came before it, or that is missing. */
  brokenAt: number | undefined
  head: Buffer | undefined
}

export const verifyAudit = async (database: Database): Promise<Verification> => {
  let entries = 0
  let head: Buffer | undefined
  for (;;) {
    // From below the first number on, so that nothing can stand in front of it.
    const after = entries === 0 ? Number.MIN_SAFE_INTEGER : entries
    const page = await auditRecordsAfter(database, after, entriesPerRead)
    for (const { hash, ...entry } of page) {
      const fits = entry.sequence === entries + 1 && hash.equals(hashOf(head ?? beginning, entry))
      if (!fits) return { entries, brokenAt: entries + 1, head }
      entries += 1
      head = hash
    }
    if (page.length < entriesPerRead) return { entries, brokenAt: undefined, head }
  }
}

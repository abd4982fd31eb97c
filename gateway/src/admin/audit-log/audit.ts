/**
 * The audit log: what operators change, and what customers change in their accounts. The hash of an entry covers the entry and the previous hash, and needs a secret that is not
 * in the database. So changing, adding, removing, or moving an entry breaks the chain, and write access to the database
 * is not enough to repair it. Removal at the end can only be detected by comparing with a newest hash stored elsewhere.
 */
import { createHmac, hkdfSync } from 'node:crypto'

import type { Call } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import { canonicalJson } from '../../platform/text/canonical-json.ts'
import type { Change } from '../admin-call.ts'
import { auditRecordsAfter, insertAuditRecord, lockAuditLog, type AuditRecord } from './audit-store.ts'
import { auditedValues } from './audited-value.ts'

export interface Verification {
  entries: number
  /** The sequence number of the first entry that is missing or whose hash does not match. */
  brokenAt: number | undefined
  head: Buffer | undefined
  /** Whether an entry has the hash that was looked for; undefined if none was. */
  hasKnownHead: boolean | undefined
}

export interface AuditLog {
  /**
   * Appends an entry in the transaction of the change, which it serializes with all others until the commit. Names and
   * other texts about people are left out of the values.
   */
  append: (database: Database, by: Pick<AuditRecord, 'actor' | 'requestId'>, change: Change) => Promise<void>
  verify: (database: Database, knownHead?: Buffer) => Promise<Verification>
}

const genesisHash = Buffer.alloc(32)
const entriesPerRead = 1_000

const hashOf = (key: Buffer, previous: Buffer, { at, ...entry }: Omit<AuditRecord, 'hash'>): Buffer =>
  createHmac('sha256', key)
    .update(previous)
    .update(canonicalJson({ ...entry, at: at.toISOString() }))
    .digest()

/** The value as it will be read back from the database: without undefined members, dates as text. */
const plain = (value: unknown): unknown =>
  value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown)

/** How the audit log, movements and prices refer to an operator or a customer. */
export const actorOf = ({ keyId }: Pick<Call['operator'], 'keyId'>): string => keyId

/** Writes with the first secret, the newest. Entries that were written with another listed secret stay valid. */
export const createAuditLog = (secrets: Secret[]): AuditLog => {
  const keys = secrets.map((secret) =>
    Buffer.from(hkdfSync('sha256', secret.reveal(), '', 'kinora audit log', 32)),
  )
  const [newest] = keys
  if (newest === undefined) throw new Error('AUDIT_SECRETS must hold at least one secret.')

  return {
    append: async (database, { actor, requestId }, { action, target, before, after }) => {
      const last = await lockAuditLog(database)
      const entry = {
        sequence: (last?.sequence ?? 0) + 1,
        at: new Date(),
        actor,
        action,
        target,
        ...auditedValues({ before: plain(before), after: plain(after) }),
        requestId,
      }
      await insertAuditRecord(database, { ...entry, hash: hashOf(newest, last?.hash ?? genesisHash, entry) })
    },

    verify: async (database, knownHead) => {
      let entries = 0
      let head: Buffer | undefined
      let hasKnownHead = knownHead === undefined ? undefined : false
      for (;;) {
        // Starts below the first number, to detect entries inserted before it.
        const after = entries === 0 ? Number.MIN_SAFE_INTEGER : entries
        const page = await auditRecordsAfter(database, after, entriesPerRead)
        for (const { hash, ...entry } of page) {
          const previous = head ?? genesisHash
          const isValid =
            entry.sequence === entries + 1 && keys.some((key) => hash.equals(hashOf(key, previous, entry)))
          if (!isValid) return { entries, brokenAt: entries + 1, head, hasKnownHead }
          entries += 1
          head = hash
          if (knownHead?.equals(hash) === true) hasKnownHead = true
        }
        if (page.length < entriesPerRead) return { entries, brokenAt: undefined, head, hasKnownHead }
      }
    },
  }
}

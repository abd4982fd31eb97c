import type { adminOperations } from '@kinora/contract/admin-operations'
import type { AuditEntry } from '@kinora/contract/operations/admin/audit-log'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { digits, pageOf, readCursor, rowsFor, uuid } from '../page.ts'
import { givenTime, secondsOf } from '../unix-time.ts'
import { listAuditRecords, namesOf, type AuditRecord } from './audit-store.ts'

const presentEntry = (entry: AuditRecord, names: Map<string, string>): AuditEntry => ({
  sequence: entry.sequence,
  object: 'audit.entry',
  at: secondsOf(entry.at),
  actor: entry.actor,
  actor_name: names.get(entry.actor) ?? null,
  action: entry.action,
  target: entry.target,
  target_name: names.get(entry.target ?? '') ?? null,
  before: entry.before,
  after: entry.after,
  request_id: entry.requestId,
  hash: entry.hash.toString('hex'),
})

export const listAuditEntries =
  ({ database }: { database: Database }): Handler<typeof adminOperations.listAuditEntries> =>
  async (call) => {
    const { action, target, from, to } = call.query
    const rows = await listAuditRecords(database, {
      action,
      target,
      from: givenTime(from),
      to: givenTime(to),
      after: readCursor(call, 'audit-log', [digits]),
      limit: rowsFor(call),
    })
    const ids = rows.flatMap(({ actor, target }) => [actor, target ?? '']).filter((id) => uuid.test(id))
    const names = await namesOf(database, [...new Set(ids)])
    const present = (entry: AuditRecord) => presentEntry(entry, names)
    return { body: pageOf(call, 'audit-log', rows, present, ({ sequence }) => [sequence]) }
  }

import type { adminOperations } from '@kinora/contract/admin-operations'
import type { AuditEntry } from '@kinora/contract/operations/admin/audit-log'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { digits, pageOf, readCursor, rowsFor } from '../page.ts'
import { givenTime, secondsOf } from '../unix-time.ts'
import { listAuditRecords, type AuditRecord } from './audit-store.ts'

const presentEntry = (entry: AuditRecord): AuditEntry => ({
  sequence: entry.sequence,
  object: 'audit.entry',
  at: secondsOf(entry.at),
  actor: entry.actor,
  action: entry.action,
  target: entry.target,
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
    return { body: pageOf(call, 'audit-log', rows, presentEntry, ({ sequence }) => [sequence]) }
  }

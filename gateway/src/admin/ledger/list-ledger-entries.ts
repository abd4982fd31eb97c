import type { adminOperations } from '@kinora/contract/admin-operations'
import type { LedgerEntry } from '@kinora/contract/operations/admin/ledger'

import type { Handler } from '../../http/call.ts'
import { timeOfUuidV7 } from '../../platform/ids/uuid.ts'
import type { Database } from '../../platform/postgres.ts'
import { dayOfTaskId } from '../../videos/task-id.ts'
import { givenFilterId } from '../given-id.ts'
import { day, digits, pageOf, readCursor, rowsFor } from '../page.ts'
import { givenTime, secondsOf } from '../unix-time.ts'
import { listLedgerRecords, type LedgerRecord } from './ledger-list-store.ts'

const presentEntry = (entry: LedgerRecord, currency: string): LedgerEntry => ({
  id: String(entry.id),
  account_id: entry.accountId,
  account_name: entry.accountName,
  wallet: entry.wallet,
  task_id: entry.taskId,
  movement: entry.movement,
  book: entry.book,
  amount_micros: entry.amountMicros,
  currency,
  created_at: secondsOf(entry.createdAt),
})

/** The creation day of a task, request, or movement, which its id contains. */
const dayOf = (id: string): string | undefined => {
  const atMs = timeOfUuidV7(id.slice(id.indexOf('_') + 1))
  const ofUuid = atMs === undefined ? undefined : new Date(atMs).toISOString().slice(0, 10)
  return [dayOfTaskId(id), ofUuid].find((each) => each !== undefined && day.test(each))
}

export const listLedgerEntries =
  ({ database }: { database: Database }): Handler<typeof adminOperations.listLedgerEntries> =>
  async (call) => {
    const { task_id: id, movement, from, to } = call.query
    const accountId = givenFilterId(call, 'account_id')
    const after = readCursor(call, 'ledger', [day, digits])
    const dayOfId = id === undefined ? undefined : dayOf(id)
    // Only our own ids have ledger entries.
    if (id !== undefined && dayOfId === undefined) return { body: { object: 'list', data: [], next: null } }
    const rows = await listLedgerRecords(database, {
      accountId,
      task: id === undefined || dayOfId === undefined ? undefined : { id, day: dayOfId },
      movement,
      from: givenTime(from),
      to: givenTime(to),
      after,
      limit: rowsFor(call),
    })
    const present = (entry: LedgerRecord) => presentEntry(entry, call.operator.currency)
    return { body: pageOf(call, 'ledger', rows, present, (entry) => [entry.day, entry.id]) }
  }

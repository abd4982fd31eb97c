/**
 * Applies a changed retention to results that have not expired yet. New results get their expiry when they are stored, so
 * nothing is read while no setting changes. A change is forgotten only after all results were aligned, so an interrupted
 * alignment starts again.
 */
import type { Database } from '../platform/postgres.ts'
import {
  alignMediaPage,
  alignTranscriptPage,
  forgetAccountChanges,
  listAccountChanges,
  markInstanceDone,
  noteInstanceDays,
  type Alignment,
} from './expiry-store.ts'
import type { RetentionDays } from './retention-days.ts'

/** Follows the pages from one to the next; false if it was interrupted. */
const eachPage = async <Position>(
  first: Position,
  align: (after: Position) => Promise<Position | undefined>,
  signal: AbortSignal,
): Promise<boolean> => {
  for (let after: Position | undefined = first; after !== undefined;) {
    if (signal.aborted) return false
    after = await align(after)
  }
  return true
}

const alignAll = async (
  database: Database,
  alignment: Alignment,
  signal: AbortSignal,
  rowsPerPage: number,
): Promise<boolean> =>
  (await eachPage(
    '00000000-0000-0000-0000-000000000000',
    (after) => alignMediaPage(database, alignment, after, rowsPerPage),
    signal,
  )) &&
  (await eachPage(
    { day: '0001-01-01', id: '' },
    (after) => alignTranscriptPage(database, alignment, after, rowsPerPage),
    signal,
  ))

export const alignExpiry = async (
  database: Database,
  days: RetentionDays,
  signal: AbortSignal,
  rowsPerPage = 5_000,
): Promise<void> => {
  const instance = await noteInstanceDays(database, days)
  const changes = await listAccountChanges(database)
  if (!instance.isDue && changes.length === 0) return
  const accountIds = instance.isDue ? undefined : changes.map(({ accountId }) => accountId)
  if (!(await alignAll(database, { days, accountIds }, signal, rowsPerPage))) return
  if (instance.isDue && instance.isSettled) await markInstanceDone(database, days)
  await forgetAccountChanges(
    database,
    changes.filter(({ isSettled }) => isSettled),
  )
}

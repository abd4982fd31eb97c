import { endAnySubscription } from '../billing/subscriptions/subscriptions.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import type { ErasureEntry, ErasureList } from './erasure-list.ts'
import { accountsToErase, addCounts, emptyKeys, markErased } from './erasure-store.ts'

const advice =
  'Set ERASURE_LIST to the list of the lost instance, or copy the folder `erasures` from the directory of its backups next to this backup. If no account was erased since the backup, add --without-erasures.'

/**
 * Closes an account for good, inside a transaction: its keys stop to work, and it loses its name. Workers delete the rest.
 * Returns false if the account does not exist or is erased.
 */
export const beginErasure = async (database: Database, entry: ErasureEntry): Promise<boolean> => {
  if (!(await markErased(database, entry))) return false
  await addCounts(database, entry.accountId, { keys: await emptyKeys(database, entry.accountId) })
  await endAnySubscription(database, { accountId: entry.accountId })
  return true
}

/**
 * Begins the erasures of the list that the database does not know: it was restored from an older state, or a process ended
 * between the list and its transaction. Returns their accounts; undefined if there is no list.
 */
export const repeatErasures = async (
  postgres: Postgres,
  lists: ErasureList[],
): Promise<string[] | undefined> => {
  const found = await Promise.all(lists.map(async (list) => ({ list, accountIds: await list.accountIds() })))
  if (found.every(({ accountIds }) => accountIds === undefined)) return undefined
  const repeated: string[] = []
  for (const { list, accountIds = [] } of found) {
    for (const accountId of await accountsToErase(postgres, accountIds)) {
      const entry = await list.read(accountId)
      if (await postgres.transaction((database) => beginErasure(database, entry))) repeated.push(accountId)
    }
  }
  return repeated
}

/** Throws if there is no list, before a restore brings erased accounts back. */
export const assertAnyList = async (lists: ErasureList[]): Promise<void> => {
  const found = await Promise.all(
    lists.map((list) =>
      list.accountIds().catch((error: unknown) => {
        throw new Error(`The erasure list cannot be read: ${(error as Error).message}. ${advice}`, {
          cause: error,
        })
      }),
    ),
  )
  if (found.some((accountIds) => accountIds !== undefined)) return
  throw new Error(
    `There is no erasure list, neither in ERASURE_LIST nor beside the backup, so erased accounts would come back. ${advice}`,
  )
}

/** Copies what the other list lacks. */
export const copyErasures = async (from: ErasureList, to: ErasureList): Promise<void> => {
  await to.open()
  const present = new Set(await to.accountIds())
  for (const accountId of (await from.accountIds()) ?? []) {
    if (!present.has(accountId)) await to.add(await from.read(accountId))
  }
}

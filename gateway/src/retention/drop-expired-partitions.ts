/**
 * Drops monthly partitions whose rows are all older than the longest retention of any account, or that are empty because each
 * account's rows were deleted at the end of its own.
 */
import type { Log } from '../platform/log.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import { taskDaysRange } from './account-term-store.ts'
import {
  dropDetached,
  findStrays,
  isEmptied,
  isNeeded,
  partitionedTables,
  expiredMonths,
  replaceDefault,
  detach,
  retentionOf,
  type Partition,
} from './partition-store.ts'
import type { RetentionDays } from './retention-days.ts'

/** The partitions that can be dropped, and those that have expired rows but are still needed. */
export const findExpiredPartitions = async (
  database: Database,
  days: RetentionDays,
): Promise<{ expired: Partition[]; stuck: Partition[] }> => {
  const task = await taskDaysRange(database, days)
  const shortest = { task: task.shortest, log: days.log }
  const longest = { task: task.longest, log: days.log }
  const expired: Partition[] = []
  const stuck: Partition[] = []
  for (const table of partitionedTables) {
    const retention = retentionOf(table)
    const strays = await findStrays(database, table, longest[retention])
    const candidates = await expiredMonths(database, table, longest[retention])
    if (strays?.allExpired === true) candidates.push(strays)
    else if (strays?.someExpired === true) stuck.push(strays)
    for (const each of candidates) {
      const list = (await isNeeded(database, each)) ? stuck : expired
      list.push(each)
    }
    const known = new Set(candidates.map(({ name }) => name))
    for (const each of await expiredMonths(database, table, shortest[retention])) {
      if (!known.has(each.name) && (await isEmptied(database, each))) expired.push(each)
    }
  }
  return { expired, stuck }
}

const isBusy = (error: unknown) => (error as { code?: unknown }).code === '55P03'

export const dropExpiredPartitions = async (
  { postgres, log }: { postgres: Postgres; log: Log },
  days: RetentionDays,
): Promise<string[]> => {
  const { expired, stuck } = await findExpiredPartitions(postgres, days)
  for (const { name, first, last } of stuck) log.warn({ name, first, last }, 'retention.partition-needed')
  for (const { table, name } of expired) {
    try {
      await postgres.transaction((database) =>
        name === `${table}_default` ? replaceDefault(database, table) : detach(database, { table, name }),
      )
    } catch (error) {
      if (!isBusy(error)) throw error
      log.info({ name }, 'retention.partition-busy')
    }
  }
  const dropped = await dropDetached(postgres)
  if (dropped.length > 0) log.info({ dropped }, 'retention.partitions-dropped')
  return dropped
}

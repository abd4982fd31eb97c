import pg from 'pg'

import type { Database } from '../platform/postgres.ts'

/** The partitioned tables with a retention. The ledger and the usage entries are never dropped. */
const retentions = {
  video_tasks: 'task',
  task_events: 'task',
  task_attempts: 'task',
  transcription_tasks: 'task',
  metered_requests: 'task',
  usage_metadata: 'task',
  request_log: 'log',
  account_events: 'log',
  webhook_deliveries: 'log',
  webhook_attempts: 'log',
} as const

export type PartitionedTable = keyof typeof retentions

export const partitionedTables = Object.keys(retentions) as PartitionedTable[]
export const retentionOf = (table: PartitionedTable): 'task' | 'log' => retentions[table]

export interface Partition {
  table: PartitionedTable
  name: string
  /** The first and the last day of its rows. */
  first: string
  last: string
  sizeBytes: number
}

const quoted = (name: string) => pg.escapeIdentifier(name)

/** The name of a detached partition, so that one that was not dropped is found again. */
const detachedName = (name: string) => `${name}_expired`

const isExpired = (day: string) =>
  `(${day} + 1)::timestamp at time zone 'utc' <= now() - make_interval(days => $1::integer)`

const boundary = (word: 'FROM' | 'TO') =>
  `substring(pg_get_expr(c.relpartbound, c.oid) from '${word} \\(''(\\d{4}-\\d\\d-\\d\\d)''\\)')::date`

/** The monthly partitions whose last day ended more than `days` ago. */
export const expiredMonths = async (
  database: Database,
  table: PartitionedTable,
  days: number,
): Promise<Partition[]> => {
  const { rows } = await database.query<Partition & Record<string, unknown>>(
    `select * from (
       select p.relname as "table", c.relname as name, ${boundary('FROM')} as first, ${boundary('TO')} - 1 as last,
              pg_total_relation_size(c.oid) as "sizeBytes"
         from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
        where p.oid = to_regclass($2)
     ) month where ${isExpired('last')} order by last`,
    [days, table],
  )
  return rows
}

export interface Strays extends Partition {
  /** Whether some and whether all of its days are expired. */
  someExpired: boolean
  allExpired: boolean
}

/** Rows in the default partition. It is empty as long as partitions are created ahead of time. */
export const findStrays = async (
  database: Database,
  table: PartitionedTable,
  days: number,
): Promise<Strays | undefined> => {
  const name = `${table}_default`
  const { rows } = await database.query<Strays & Record<string, unknown>>(
    `select $2 as "table", $3 as name, first, last, ${isExpired('first')} as "someExpired", ${isExpired('last')} as "allExpired",
            pg_total_relation_size(to_regclass($3)) as "sizeBytes"
       from (select min(day) as first, max(day) as last from ${quoted(name)}) found
      where first is not null`,
    [days, table, name],
  )
  return rows[0]
}

const pendingDeliveries = `select from webhook_deliveries where day >= $1 and day <= $2 and state = 'pending'`

const openWork: Record<PartitionedTable, string | undefined> = {
  video_tasks: `select from open_tasks where day >= $1 and day <= $2
    union all select from open_tasks o join video_tasks source on source.id = o.source_task_id
    where source.day >= $1 and source.day <= $2`,
  task_events: 'select from open_tasks where day >= $1 and day <= $2',
  task_attempts: 'select from open_tasks where day >= $1 and day <= $2',
  transcription_tasks: `select from transcription_tasks where day >= $1 and day <= $2
    and (finished_at is null or recording_key is not null or has_transcript)`,
  metered_requests: `select from metered_requests where day >= $1 and day <= $2 and outcome = 'open'`,
  usage_metadata: undefined,
  request_log: undefined,
  account_events: undefined,
  webhook_deliveries: pendingDeliveries,
  webhook_attempts: pendingDeliveries,
}

/** The tables whose rows the rows of a partition belong to. */
const ownersOf = (table: PartitionedTable): string[] => {
  if (table === 'task_events') return ['video_tasks', 'transcription_tasks']
  if (table === 'webhook_attempts') return ['webhook_deliveries']
  return [table === 'task_attempts' ? 'video_tasks' : table]
}

/** Whether all rows of these days were deleted one by one. Events and attempts need their task. */
export const isEmptied = async (database: Database, { table, first, last }: Partition): Promise<boolean> => {
  const { rows } = await database.query<{ found: boolean }>(
    `select ${ownersOf(table)
      .map((owner) => `exists (select from ${owner} where day >= $1 and day <= $2)`)
      .join(' or ')} as found`,
    [first, last],
  )
  return rows[0]?.found !== true
}

/** Whether a partition contains open work, or rows whose files have not been removed yet. */
export const isNeeded = async (database: Database, { table, first, last }: Partition): Promise<boolean> => {
  const found = openWork[table]
  if (found === undefined) return false
  const { rows } = await database.query<{ found: boolean }>(`select exists (${found}) as found`, [
    first,
    last,
  ])
  return rows[0]?.found === true
}

/**
 * Detaches a partition, inside a transaction. The lock blocks all users of the table, so it gives up after a short wait
 * for it. Dropping may take long and happens outside of the lock.
 */
export const detach = async (
  database: Database,
  { table, name }: Pick<Partition, 'table' | 'name'>,
): Promise<void> => {
  await database.query(`set local lock_timeout to '500ms'`)
  // Serializes this with `ensure_partitions`.
  await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:partitions', 0))`)
  await database.query(`alter table ${quoted(table)} detach partition ${quoted(name)}`)
  await database.query(`alter table ${quoted(name)} rename to ${quoted(detachedName(name))}`)
}

/** Detaches the default partition and creates an empty one, inside a transaction. */
export const replaceDefault = async (database: Database, table: PartitionedTable): Promise<void> => {
  const name = `${table}_default`
  await detach(database, { table, name })
  await database.query(`create table ${quoted(name)} partition of ${quoted(table)} default`)
}

/** Drops detached partitions, also those of a process that died before it could; returns their original names. */
export const dropDetached = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ name: string }>(
    `select c.relname as name from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname ~ $1
        and not exists (select from pg_inherits i where i.inhrelid = c.oid)
      order by c.relname`,
    [`^(${partitionedTables.join('|')})_(\\d{4}_\\d{2}|default)_expired$`],
  )
  for (const { name } of rows) await database.query(`drop table if exists ${quoted(name)}`)
  return rows.map(({ name }) => name.slice(0, -detachedName('').length))
}

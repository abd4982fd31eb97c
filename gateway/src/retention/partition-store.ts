import pg from 'pg'

import type { Database } from '../platform/postgres.ts'

/** The tables that are cut by month and whose months go. What the ledger says stays for good. */
const terms = {
  video_tasks: 'task',
  task_events: 'task',
  task_attempts: 'task',
  transcription_tasks: 'task',
  metered_requests: 'task',
  request_log: 'log',
} as const

export type PartedTable = keyof typeof terms

export const partedTables = Object.keys(terms) as PartedTable[]
export const termOf = (table: PartedTable): 'task' | 'log' => terms[table]

export interface Partition {
  table: PartedTable
  name: string
  /** The days of its rows. */
  first: string
  last: string
  sizeBytes: number
}

const quoted = (name: string) => pg.escapeIdentifier(name)

/** What its name becomes when it is taken out, so that one that was not dropped is known again. */
const takenOut = (name: string) => `${name}_past`

const isExpired = (day: string) =>
  `(${day} + 1)::timestamp at time zone 'utc' <= now() - make_interval(days => $1::integer)`

const boundary = (word: 'FROM' | 'TO') =>
  `substring(pg_get_expr(c.relpartbound, c.oid) from '${word} \\(''(\\d{4}-\\d\\d-\\d\\d)''\\)')::date`

/** The months of a table whose every day was over so many days ago. */
export const expiredMonths = async (
  database: Database,
  table: PartedTable,
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
  /** Whether some, and whether all of the days were over so many days ago. */
  someExpired: boolean
  allExpired: boolean
}

/** What lies where rows of no month go, which is nothing as long as months are made ahead of time. */
export const findStrays = async (
  database: Database,
  table: PartedTable,
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

const openWork: Record<PartedTable, string | undefined> = {
  video_tasks: `select from open_tasks where day >= $1 and day <= $2
    union all select from open_tasks o join video_tasks source on source.id = o.source_task_id
    where source.day >= $1 and source.day <= $2`,
  task_events: 'select from open_tasks where day >= $1 and day <= $2',
  task_attempts: 'select from open_tasks where day >= $1 and day <= $2',
  transcription_tasks: `select from transcription_tasks where day >= $1 and day <= $2
    and (finished_at is null or recording_key is not null or has_transcript)`,
  metered_requests: `select from metered_requests where day >= $1 and day <= $2 and outcome = 'open'`,
  request_log: undefined,
}

/** Whether something of these days is still under way, or has files that would be forgotten with it. */
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
 * Takes a partition out of its table. Everything that uses the table waits for that, so it gives up at once where it
 * would have to wait itself; and it drops nothing, because that may take long. Goes inside a transaction.
 */
export const takeOut = async (
  database: Database,
  { table, name }: Pick<Partition, 'table' | 'name'>,
): Promise<void> => {
  await database.query(`set local lock_timeout to '500ms'`)
  // Whoever makes partitions at the same time is put in line.
  await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:partitions', 0))`)
  await database.query(`alter table ${quoted(table)} detach partition ${quoted(name)}`)
  await database.query(`alter table ${quoted(name)} rename to ${quoted(takenOut(name))}`)
}

/** The same for the one that takes what fits nowhere else; another takes its place. Goes inside a transaction. */
export const replaceDefault = async (database: Database, table: PartedTable): Promise<void> => {
  const name = `${table}_default`
  await takeOut(database, { table, name })
  await database.query(`create table ${quoted(name)} partition of ${quoted(table)} default`)
}

/** Drops what was taken out, now or by a process that died before it could. Answers the names they had. */
export const dropTakenOut = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ name: string }>(
    `select c.relname as name from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname ~ $1
        and not exists (select from pg_inherits i where i.inhrelid = c.oid)
      order by c.relname`,
    [`^(${partedTables.join('|')})_(\\d{4}_\\d{2}|default)_past$`],
  )
  for (const { name } of rows) await database.query(`drop table if exists ${quoted(name)}`)
  return rows.map(({ name }) => name.slice(0, -takenOut('').length))
}

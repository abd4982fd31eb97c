import pg from 'pg'

import { keyUses } from '../billing/ledger/ledger-audit-store.ts'
import type { Database } from '../platform/postgres.ts'

/** The rows of one table, or of one of its partitions, that an archive takes. */
export interface Source {
  table: 'ledger_entries' | 'usage_entries' | 'account_movements' | 'refunds'
  /** The partition, or the table itself. */
  name: string
  /** All rows are taken, and the partition is dropped. Otherwise the rows are deleted. */
  isWhole: boolean
  /** The first day, and the day after the last one. */
  from: string
  until: string
  sizeBytes: number
}

const quoted = (name: string) => pg.escapeIdentifier(name)

const dayOf = ({ table }: Source) =>
  table === 'account_movements' ? `(source.created_at at time zone 'utc')::date` : 'source.day'

/** The rows of a source; $1 and $2 are its days. A whole partition is read through its table, which leads to it. */
const rowsOf = (source: Source) =>
  `${quoted(source.isWhole ? source.table : source.name)} source where ${dayOf(source)} >= $1::date and ${dayOf(source)} < $2::date`

const boundary = (word: 'FROM' | 'TO') =>
  `substring(pg_get_expr(c.relpartbound, c.oid) from '${word} \\(''(\\d{4}-\\d\\d-\\d\\d)''\\)')::date`

/** What an archive of everything before a day would take. */
export const findSources = async (database: Database, before: string): Promise<Source[]> => {
  const { rows } = await database.query<Source & Record<string, unknown>>(
    `select "table", name, first is not null as "isWhole", coalesce(first::text, '-infinity') as "from",
            coalesce("end", $1::date)::text as until, pg_total_relation_size(to_regclass(quote_ident(name))) as "sizeBytes" from (
       select p.relname::text as "table", c.relname::text as name, ${boundary('FROM')} as first, ${boundary('TO')} as "end"
         from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
        where p.oid in (to_regclass('ledger_entries'), to_regclass('usage_entries'))
       union all
       select name, name, null, null from unnest(array['account_movements', 'refunds']) as name
     ) source where coalesce("end", '-infinity') <= $1::date order by first is null, name`,
    [before],
  )
  return rows
}

export interface Obstacles {
  /** Whether the year has begun by the clock of the database. */
  hasBegun: boolean
  /** Tasks and requests from before, whose receipts can still be read. */
  tasks: number
  /** The day before which everything is archived already. */
  archivedBefore: string | null
}

export const findObstacles = async (database: Database, before: string): Promise<Obstacles> => {
  const { rows } = await database.query<Obstacles & Record<string, unknown>>(
    `select $1::date <= (now() at time zone 'utc')::date as "hasBegun",
            (select count(*) from video_tasks where day < $1) + (select count(*) from transcription_tasks where day < $1)
              + (select count(*) from metered_requests where day < $1) as tasks,
            (select max(before) from ledger_archives) as "archivedBefore"`,
    [before],
  )
  return rows[0] ?? { hasBegun: false, tasks: 0, archivedBefore: null }
}

/** Begins to read in one snapshot. It must be the first query of the transaction. */
export const beginExport = async (database: Database): Promise<void> => {
  await database.query('set transaction isolation level repeatable read read only')
  await database.query('set local idle_in_transaction_session_timeout to 0')
}

/** The number of rows of a source, and a checksum of their content. */
export interface Digest {
  rows: number
  checksum: string
}

export const digestOf = async (database: Database, source: Source): Promise<Digest> => {
  const { rows } = await database.query<Digest & Record<string, unknown>>(
    `select count(*) as rows, coalesce(sum(hashtextextended(source::text, 0)), 0)::text as checksum from ${rowsOf(source)}`,
    [source.from, source.until],
  )
  return rows[0] ?? { rows: 0, checksum: '0' }
}

const rowsPerPage = 2_000

/** The rows of a source, each as a line of JSON, without the texts of operators: an archive cannot be erased in part. */
export async function* readLines(database: Database, source: Source): AsyncGenerator<string> {
  const isLedger = source.table === 'ledger_entries'
  let after = { day: '-infinity', id: isLedger ? '0' : '' }
  for (;;) {
    const { rows } = await database.query<{ day: string; id: string; line: string }>(
      `select ${dayOf(source)}::text as day, source.id::text as id, (to_jsonb(source) - 'reason' - 'reference')::text as line from ${rowsOf(source)}
          and (${dayOf(source)}, source.id) > ($3::date, $4::${isLedger ? 'bigint' : 'text'})
        order by ${dayOf(source)}, source.id limit $5`,
      [source.from, source.until, after.day, after.id, rowsPerPage],
    )
    const last = rows.at(-1)
    if (last === undefined) return
    yield `${rows.map(({ line }) => line).join('\n')}\n`
    after = last
  }
}

export interface Totals {
  entries: number
  availableMicros: number
  heldMicros: number
}

const sumsBefore = `select account_id, wallet, max(id) as entry_id, count(*) as entries,
    coalesce(sum(amount_micros) filter (where book = 'available'), 0)::bigint as available,
    coalesce(sum(amount_micros) filter (where book = 'held'), 0)::bigint as held
  from ledger_entries where day < $1 group by account_id, wallet`

/** Adds the entries from before a day to the opening balances; returns what they sum up to. */
export const addToOpenings = async (database: Database, before: string): Promise<Totals> => {
  await database.query(
    `insert into opening_key_usage as o (key_id, counted_from, used_micros)
     select q.key_id, q.counted_from, sum(u.amount)
       from key_quotas q join (${keyUses}) u on u.key_id = q.key_id and u.at >= q.counted_from
      where u.day < $1 group by q.key_id, q.counted_from
     on conflict (key_id) do update
       set counted_from = excluded.counted_from,
           used_micros = excluded.used_micros
             + case when o.counted_from = excluded.counted_from then o.used_micros else 0 end`,
    [before],
  )
  const { rows } = await database.query<Totals & Record<string, unknown>>(
    `with sums as materialized (${sumsBefore}), added as (
       insert into opening_balances as o (account_id, wallet, entry_id, available_micros, held_micros)
       select account_id, wallet, entry_id, available, held from sums
       on conflict (account_id, wallet) do update
         set entry_id = greatest(o.entry_id, excluded.entry_id),
             available_micros = o.available_micros + excluded.available_micros,
             held_micros = o.held_micros + excluded.held_micros
     )
     select coalesce(sum(entries), 0)::bigint as entries, coalesce(sum(available), 0)::bigint as "availableMicros",
            coalesce(sum(held), 0)::bigint as "heldMicros" from sums`,
    [before],
  )
  return rows[0] ?? { entries: 0, availableMicros: 0, heldMicros: 0 }
}

/** Keeps others from changing the rows of a source until the transaction ends. They can read them. */
export const lockSource = async (database: Database, { name }: Source): Promise<void> => {
  await database.query(`lock table ${quoted(name)} in share row exclusive mode`)
}

const detachedName = (name: string) => `${name}_archived`

/** Takes the rows of a source out of its table, inside a transaction. */
export const removeSource = async (database: Database, source: Source): Promise<void> => {
  const { table, name, isWhole, from, until } = source
  if (!isWhole) {
    await database.query(`delete from ${rowsOf(source)}`, [from, until])
    return
  }
  await database.query(`alter table ${quoted(table)} detach partition ${quoted(name)}`)
  await database.query(`alter table ${quoted(name)} rename to ${quoted(detachedName(name))}`)
}

export const insertArchive = async (
  database: Database,
  {
    before,
    manifestSha256,
    entries,
    availableMicros,
    heldMicros,
  }: Totals & { before: string; manifestSha256: string },
): Promise<void> => {
  await database.query(
    `insert into ledger_archives (before, manifest_sha256, entries, available_micros, held_micros, has_statement_sums)
     values ($1, $2, $3, $4, $5, true)`,
    [before, manifestSha256, entries, availableMicros, heldMicros],
  )
}

/** Drops partitions that were archived, also those of a process that died before it could; returns their names. */
export const dropArchived = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ name: string }>(
    `select c.relname::text as name from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and not c.relispartition
        and c.relname ~ '^(ledger|usage)_entries_\\d{4}_\\d{2}_archived$' order by c.relname`,
  )
  for (const { name } of rows) await database.query(`drop table ${quoted(name)}`)
  return rows.map(({ name }) => name.slice(0, -detachedName('').length))
}

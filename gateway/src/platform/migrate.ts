import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

import { isLockTimeout } from './postgres-errors.ts'
import type { Database, HeldLock, Postgres } from './postgres.ts'

interface MigrateOptions {
  /** The directory of the migrations. */
  directory?: URL
  /** How long a statement may wait for a lock, and how often it is tried. */
  lockTimeoutMs?: number
  lockTriesMax?: number
  /** Called before a migration is tried again. */
  onLocked?: (name: string) => void
}

const ownDirectory = new URL('../../migrations/', import.meta.url)
// While a statement waits for a table lock, all later statements on the table wait behind it. It gives up soon, lets them
// through, and tries again. The time is below PostgreSQL's deadlock_timeout, so that a deadlock ends here and not there.
const defaultLock = { lockTimeoutMs: 800, lockTriesMax: 60 }
const betweenTriesMs = 1_000
const waitForOthersMs = 200

/** The first line of a migration that PostgreSQL does not allow in a transaction, such as `create index concurrently`. */
const withoutTransaction = '-- no transaction\n'

const migrationFiles = async (directory = ownDirectory) =>
  (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted()

/** Waits for other processes that migrate. It asks again and again: a statement that waits would block concurrent indexes. */
const lockMigrations = async (postgres: Postgres): Promise<HeldLock> => {
  for (;;) {
    const lock = await postgres.holdLock('kinora:migrate')
    if (lock !== undefined) return lock
    await pause(waitForOthersMs)
  }
}

/**
 * Applies the missing migrations in the order of their numbers, each in its own transaction, while other versions of the
 * program use the database. A lock serialises processes that migrate at the same time.
 */
export const migrate = async (postgres: Postgres, options: MigrateOptions = {}): Promise<string[]> => {
  const { directory, lockTimeoutMs, lockTriesMax, onLocked } = { ...defaultLock, ...options }

  const inShortTransaction = async (name: string, work: (database: Database) => Promise<unknown>) => {
    for (let tries = 1; ; tries += 1) {
      try {
        await postgres.transaction(work, { lockTimeoutMs })
        return
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        if (tries >= lockTriesMax) {
          throw new Error(
            `${name} was not applied: other transactions hold a lock on a table that it changes. ` +
              'Run `kinora migrate` again when they have ended; pg_stat_activity lists them.',
            { cause: error },
          )
        }
        onLocked?.(name)
        await pause(betweenTriesMs)
      }
    }
  }

  const record = (database: Database, name: string) =>
    database.query('insert into migrations (name) values ($1)', [name])

  const apply = async (name: string) => {
    const text = await readFile(new URL(name, directory ?? ownDirectory), 'utf8')
    if (text.startsWith(withoutTransaction)) {
      // A batch of statements would be one transaction.
      for (const statement of text.split(/;\s*\n/)) await postgres.query(statement)
      await record(postgres, name)
      return
    }
    await inShortTransaction(name, async (database) => {
      await database.query(text)
      await record(database, name)
    })
  }

  const lock = await lockMigrations(postgres)
  try {
    await postgres.query(
      'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
    )
    const applied = await appliedMigrations(postgres)
    const missing = (await migrationFiles(directory)).filter((name) => applied?.has(name) !== true)
    for (const name of missing) await apply(name)
    await inShortTransaction('The partitioning', ensurePartitions)
    await completePartitionIndexes(postgres)
    return missing
  } finally {
    await lock.release()
  }
}

/** Creates the missing partitions of the coming months. */
export const ensurePartitions = async (database: Database): Promise<void> => {
  await database.query('select ensure_partitions()')
}

/**
 * Creates the indexes that a migration has declared on a partitioned table only, on its existing partitions and without blocking
 * them. The index of the table becomes valid with the last of them. What an interrupted call has left is created anew.
 */
const completePartitionIndexes = async (postgres: Postgres): Promise<void> => {
  const { rows } = await postgres.query<{ parent: string; name: string; definition: string }>(
    `select quote_ident(parent.relname) as parent, quote_ident(partition.relname || '_' || parent.relname) as name,
            quote_ident(partition.relname) || substring(pg_get_indexdef(i.indexrelid) from ' USING .*$') as definition
       from pg_index i
       join pg_class parent on parent.oid = i.indexrelid and parent.relkind = 'I'
       join pg_inherits h on h.inhparent = i.indrelid
       join pg_class partition on partition.oid = h.inhrelid
      where not i.indisvalid and not i.indisunique and parent.relnamespace = current_schema()::regnamespace
        and not exists (
          select from pg_inherits attached join pg_index child on child.indexrelid = attached.inhrelid
           where attached.inhparent = i.indexrelid and child.indrelid = h.inhrelid)
      order by 1, 2`,
  )
  for (const { parent, name, definition } of rows) {
    await postgres.query(`drop index concurrently if exists ${name}`)
    await postgres.query(`create index concurrently ${name} on ${definition}`)
    await postgres.query(`alter index ${parent} attach partition ${name}`)
  }
}

/** The names of the applied migrations; undefined for a database that was never migrated. */
export const appliedMigrations = async (database: Database): Promise<Set<string> | undefined> => {
  const { rows: tables } = await database.query<{ exists: boolean }>(
    `select to_regclass('migrations') is not null as exists`,
  )
  if (tables[0]?.exists !== true) return undefined
  const { rows } = await database.query<{ name: string }>('select name from migrations')
  return new Set(rows.map(({ name }) => name))
}

/** The migrations among these that this program does not have, because it is too old. */
export const unknownMigrations = async (names: string[]): Promise<string[]> => {
  const known = new Set(await migrationFiles())
  return names.filter((name) => !known.has(name)).toSorted()
}

/**
 * Why this program cannot use the database; undefined if every migration that it knows was applied. Others may have been
 * applied too: during an upgrade and after a rollback the database is newer than the program.
 */
export const migrationProblem = async (postgres: Postgres): Promise<string | undefined> => {
  const applied = await appliedMigrations(postgres)
  if (applied === undefined) return 'the database has not been migrated'
  const missing = (await migrationFiles()).filter((name) => !applied.has(name))
  if (missing.length === 0) return undefined
  return `the database lacks the migration${missing.length === 1 ? '' : 's'} ${missing.join(', ')}`
}

/** Throws with instructions for the operator unless every migration was applied. Call it before any other query. */
export const assertMigrated = async (postgres: Postgres): Promise<void> => {
  const problem = await migrationProblem(postgres)
  if (problem === undefined) return
  throw new Error(`${problem[0]?.toUpperCase()}${problem.slice(1)}. Run \`kinora migrate\` and start again.`)
}

import { readdir, readFile } from 'node:fs/promises'

import type { Database, Postgres } from './postgres.ts'

const directory = new URL('../../migrations/', import.meta.url)

const migrationFiles = async () =>
  (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted()

/**
 * Applies the missing migrations in the order of their numbers, each in its own transaction. A lock serialises
 * processes that migrate at the same time.
 */
export const migrate = async (postgres: Postgres): Promise<string[]> => {
  const files = await migrationFiles()
  const applied: string[] = []
  for (const file of files) {
    const isNew = await postgres.transaction(async (database) => {
      await database.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', ['kinora:migrate'])
      await database.query(
        'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
      )
      const { rowCount } = await database.query('select 1 from migrations where name = $1', [file])
      if (rowCount !== 0) return false
      await database.query(await readFile(new URL(file, directory), 'utf8'))
      await database.query('insert into migrations (name) values ($1)', [file])
      return true
    })
    if (isNew) applied.push(file)
  }
  await ensurePartitions(postgres)
  return applied
}

/** Creates the missing partitions of the coming months. */
export const ensurePartitions = async (postgres: Postgres): Promise<void> => {
  await postgres.query('select ensure_partitions()')
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

/** Why this program cannot use the database; undefined if every migration was applied. */
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

import { readdir, readFile } from 'node:fs/promises'

import type { Postgres } from './postgres.ts'

const directory = new URL('../../migrations/', import.meta.url)

/**
 * Applies the migrations that the database does not have yet, each in its own transaction and in the
 * order of their numbers. Two processes migrating at once are put in line by a lock.
 */
export const migrate = async (postgres: Postgres): Promise<string[]> => {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted()
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

/** Makes the partitions of the coming months that are not there yet. */
export const ensurePartitions = async (postgres: Postgres): Promise<void> => {
  await postgres.query('select ensure_partitions()')
}

/** Migrations the database lacks; a process that finds any is not ready to serve. */
export const missingMigrations = async (postgres: Postgres): Promise<string[]> => {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.sql'))
  const { rows } = await postgres.query<{ name: string }>('select name from migrations')
  const present = new Set(rows.map(({ name }) => name))
  return files.filter((name) => !present.has(name))
}

import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { createLog } from './log.ts'
import { migrate, migrationProblem } from './migrate.ts'
import { connectPostgres, type Postgres } from './postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

/** A directory with these migrations only; those of the program were applied before. */
const migrationsOf = async (files: Record<string, string>) => {
  const temporary = await mkdtempDisposable(join(tmpdir(), 'kinora-migrate-'))
  const directory = join(temporary.path, 'migrations')
  await mkdir(directory)
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  return { directory: pathToFileURL(`${directory}/`), [Symbol.asyncDispose]: () => temporary.remove() }
}

/** Begins a transaction that has read the table, and ends it when it is released. */
const readerOf = async (postgres: Postgres, table: string) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: hasRead, resolve: onRead } = Promise.withResolvers<void>()
  const ended = postgres.transaction(async (transaction) => {
    await transaction.query(`select count(*) from ${table}`)
    onRead()
    await released
  })
  await hasRead
  return { release, ended }
}

test('a migration that waits for a lock lets traffic through, and is applied once the lock is free', async () => {
  const { postgres } = database
  await using migrations = await migrationsOf({
    '0100-wait.sql': 'alter table accounts add column waited_for text;',
  })
  const reader = await readerOf(postgres, 'accounts')
  const locked: string[] = []
  let query: Promise<unknown> | undefined
  const applied = migrate(postgres, {
    directory: migrations.directory,
    lockTimeoutMs: 50,
    onLocked: (name) => {
      locked.push(name)
      // The lock of the migration would block this query for as long as the reader lasts.
      query ??= postgres.query('select count(*) from accounts').then(() => reader.release())
    },
  })
  expect(await applied).toEqual(['0100-wait.sql'])
  await Promise.all([query, reader.ended])
  expect(locked).toContain('0100-wait.sql')
})

test('a migration that never gets its lock changes nothing and says what to do', async () => {
  const { postgres } = database
  await using migrations = await migrationsOf({
    '0101-never.sql': 'create table never (id integer); alter table keys add column never text;',
  })
  const reader = await readerOf(postgres, 'keys')
  const options = { directory: migrations.directory, lockTimeoutMs: 50, lockTriesMax: 2 }
  await expect(migrate(postgres, options)).rejects.toThrow(
    '0101-never.sql was not applied: other transactions hold a lock on a table that it changes. Run `kinora migrate` again',
  )
  reader.release()
  await reader.ended
  const { rows } = await postgres.query(`select to_regclass('never') as "table"`)
  expect(rows).toEqual([{ table: null }])
  expect(await migrate(postgres, options)).toEqual(['0101-never.sql'])
})

test('an index is created concurrently, outside of a transaction, while other processes wait to migrate', async () => {
  await using migrations = await migrationsOf({
    '0102-index.sql':
      '-- no transaction\n-- Twice, because a failed attempt leaves an invalid index.\n' +
      'drop index concurrently if exists plans_by_days;\ncreate index concurrently plans_by_days on plans (cycle_days);\n',
  })
  const processes = Array.from({ length: 4 }, () =>
    connectPostgres({ url: database.url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test')),
  )
  const applied = await Promise.all(
    processes.map((postgres) => migrate(postgres, { directory: migrations.directory })),
  )
  await Promise.all(processes.map((postgres) => postgres.close()))
  expect(applied.flat()).toEqual(['0102-index.sql'])
  const { rows } = await database.postgres.query(
    `select indisvalid as "isValid" from pg_index where indexrelid = 'plans_by_days'::regclass`,
  )
  expect(rows).toEqual([{ isValid: true }])
})

test('an index that a migration declares on a partitioned table is created on its partitions, also after an interruption', async () => {
  const { postgres } = database
  await postgres.query('create table parted (day date not null, n integer) partition by range (day)')
  await postgres.query('create table parted_default partition of parted default')
  await using migrations = await migrationsOf({
    '0102-parted.sql': 'create index parted_by_n on only parted (n) where n is not null;',
  })
  // An interrupted call has left it, and not attached it.
  await postgres.query('create index parted_default_parted_by_n on parted_default (day)')
  await migrate(postgres, { directory: migrations.directory })
  const { rows } = await postgres.query(
    `select indexrelid::regclass::text as name, indisvalid as "isValid" from pg_index
      where indrelid in (select oid from pg_class where relname like 'parted%') and not indisvalid
         or indexrelid in ('parted_by_n'::regclass, 'parted_default_parted_by_n'::regclass) order by 1`,
  )
  expect(rows).toEqual([
    { name: 'parted_by_n', isValid: true },
    { name: 'parted_default_parted_by_n', isValid: true },
  ])
  await postgres.query(`insert into parted values (now(), 1)`)
  expect(await migrate(postgres, { directory: migrations.directory })).toEqual([])
})

test('a migration that fails is not recorded, and those before it are', async () => {
  const { postgres } = database
  await using migrations = await migrationsOf({
    '0103-good.sql': 'create table good (id integer);',
    '0104-bad.sql': 'create table bad (id integer); select 1 / 0;',
    '0105-later.sql': 'create table later (id integer);',
  })
  await expect(migrate(postgres, { directory: migrations.directory })).rejects.toThrow('division by zero')
  const { rows } = await postgres.query<{ name: string }>(
    `select name from migrations where name > '0103' order by name`,
  )
  expect(rows).toEqual([{ name: '0103-good.sql' }])
})

test('a program uses a database that is newer than itself', async () => {
  const { postgres } = database
  await postgres.query(`insert into migrations (name) values ('9999-of-a-later-version.sql')`)
  expect(await migrationProblem(postgres)).toBeUndefined()
})

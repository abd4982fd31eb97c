import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { describe, expect, test } from 'vitest'

import { createDatabase } from '../../gateway/test/kit/database.ts'
import { createAccount, keySecret, linkSecret } from '../../gateway/test/kit/factories.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../src/kinora.ts', import.meta.url))

const kinora = (parameters: string[], environment: Record<string, string>, signal?: AbortSignal) =>
  run(process.execPath, [program, ...parameters], {
    env: { PATH: process.env['PATH'], ...environment },
    signal,
  })

test("an operator's first key is made straight in the database, printed once and stored as a hash", async () => {
  await using database = await createDatabase()
  const environment = { DATABASE_URL: database.url, KEY_HASH_SECRETS: keySecret }
  const { stdout } = await kinora(['admin', 'create', '--name', 'first'], environment)
  expect(stdout).toMatch(/^sk-admin-[0-9A-Za-z]{36}\n$/)
  const { rows } = await database.postgres.query('select kind, name, hint, account_id from keys')
  expect(rows).toEqual([
    { kind: 'admin', name: 'first', hint: `…${stdout.trim().slice(-4)}`, account_id: null },
  ])
})

test('a database that is up to date has nothing to migrate', async () => {
  await using database = await createDatabase()
  const { stdout } = await kinora(['migrate'], { DATABASE_URL: database.url })
  expect(stdout).toBe('Nothing to do.\n')
})

test('an audit says which rules hold, and ends with 1 where the books are not sound', async () => {
  await using database = await createDatabase()
  const environment = { DATABASE_URL: database.url }
  const accountId = await createAccount(database.postgres)
  const { stdout } = await kinora(['audit'], environment)
  expect(stdout).toMatch(/^holds {3}balances_match_legs$/m)
  expect(stdout).toMatch(/The books are sound \(\d+ ms\)\.\n$/)

  await database.postgres.query('update balances set available_micros = available_micros + 1')
  await expect(kinora(['audit'], environment)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      new RegExp(`BROKEN {2}balances_match_legs: 1\n[^]*${accountId} payg[^]*not sound: 1 of \\d+ rules`),
    ) as string,
  })
  const failed = await kinora(['audit', '--json'], environment).catch((error: { stdout: string }) => error)
  expect(JSON.parse(failed.stdout)).toMatchObject({
    is_sound: false,
    findings: expect.arrayContaining([
      expect.objectContaining({ invariant: 'balances_match_legs', violations: 1 }),
    ]) as unknown[],
  })
})

test('an empty database is migrated in order', async () => {
  await using database = await createDatabase()
  await database.postgres.query('drop schema public cascade')
  await database.postgres.query('create schema public')
  const { stdout } = await kinora(['migrate'], { DATABASE_URL: database.url })
  expect(stdout).toMatch(/^Applied 0001-accounts-and-keys\.sql, 0002-money\.sql, /)
})

test('what is missing or out of reach is said with what to do, and with an exit code of its own', async () => {
  await expect(kinora(['api'], {})).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringContaining('DATABASE_URL is required'),
  })
  await expect(kinora(['migrate'], { DATABASE_URL: 'postgres://127.0.0.1:9/none' })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is DATABASE_URL its address?'),
  })
})

const readers = ['api', 'worker', 'retention', 'audit', 'admin create']

describe.each(readers)('%s on a database that is not up to date', (command) => {
  const start = async (databaseUrl: string, signal: AbortSignal) => {
    const directory = await mkdtemp(join(tmpdir(), 'kinora-operator-'))
    try {
      const environment = {
        DATABASE_URL: databaseUrl,
        KEY_HASH_SECRETS: keySecret,
        LINK_SECRETS: linkSecret,
        MEDIA_DIRECTORY: directory,
        PORT: '0',
        RESTATE_INGRESS_URL: 'http://127.0.0.1:9',
        RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
      }
      return await kinora(command.split(' '), environment, signal)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  }

  test('an empty one: ends with 1 and says what to run', async ({ signal }) => {
    await using database = await createDatabase()
    await database.postgres.query('drop schema public cascade')
    await database.postgres.query('create schema public')
    await expect(start(database.url, signal)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'The database has not been migrated. Run `kinora migrate` and start again.\n',
    })
  })

  test('one that lacks some migrations: names them', async ({ signal }) => {
    await using database = await createDatabase()
    const { rows } = await database.postgres.query<{ name: string }>(
      `delete from migrations where name in (select name from migrations order by name desc limit 2)
       returning name`,
    )
    const missing = rows.map(({ name }) => name).toSorted()
    await expect(start(database.url, signal)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: `The database lacks the migrations ${missing.join(', ')}. Run \`kinora migrate\` and start again.\n`,
    })
  })
})

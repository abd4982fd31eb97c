import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { createDatabase } from '../../gateway/test/kit/database.ts'
import { keySecret } from '../../gateway/test/kit/factories.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../src/kinora.ts', import.meta.url))

const kinora = (parameters: string[], environment: Record<string, string>) =>
  run(process.execPath, [program, ...parameters], { env: { PATH: process.env['PATH'], ...environment } })

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

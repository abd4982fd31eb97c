import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, mkdtempDisposable, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

import { describe, expect, inject, test } from 'vitest'

import { createAuditLog } from '../../gateway/src/admin/audit-log/audit.ts'
import { Secret } from '../../gateway/src/platform/secret.ts'
import { createDatabase } from '../../gateway/test/kit/database.ts'
import { auditSecret, createAccount, keySecret, linkSecret } from '../../gateway/test/kit/factories.ts'
import { reservePorts } from '../../gateway/test/kit/reserve-ports.ts'

const run = promisify(execFile)
const program = inject('command')

const kinora = (parameters: string[], environment: Record<string, string>, signal?: AbortSignal) =>
  run(process.execPath, [program, ...parameters], {
    env: { PATH: process.env['PATH'], ...environment },
    signal,
  })

describe('admin create', () => {
  const environmentOf = (databaseUrl: string) => ({
    DATABASE_URL: databaseUrl,
    KEY_HASH_SECRETS: keySecret,
    AUDIT_SECRETS: auditSecret,
  })

  test('prints the key once, stores only its hash, and writes to the audit log', async () => {
    await using database = await createDatabase()
    const environment = environmentOf(database.url)
    const { stdout } = await kinora(['admin', 'create', '--name', 'first'], environment)
    expect(stdout).toMatch(/^sk-admin-[0-9A-Za-z]{36}\n$/)
    const days = `extract(epoch from expires_at - now()) / 86400`
    const { rows } = await database.postgres.query<{ id: string }>(
      `select id, kind, name, hint, role, account_id, round(${days}) as days from keys`,
    )
    const hint = `…${stdout.trim().slice(-4)}`
    expect(rows).toEqual([
      {
        id: expect.any(String),
        kind: 'admin',
        name: 'first',
        hint,
        role: 'admin',
        account_id: null,
        days: 90,
      },
    ])
    const { rows: entries } = await database.postgres.query(
      'select actor, action, target, before, after, request_id from audit_log',
    )
    expect(entries).toEqual([
      {
        actor: `command line: uid ${process.getuid?.()}`,
        action: 'createOperatorKey',
        target: rows[0]?.id,
        before: null,
        after: {
          ...{ id: rows[0]?.id, object: 'key', kind: 'admin', hint, role: 'admin' },
          expires_at: expect.any(Number),
        },
        request_id: null,
      },
    ])
    const verification = await createAuditLog([new Secret(auditSecret)]).verify(database.postgres)
    expect(verification).toMatchObject({ entries: 1, brokenAt: undefined })
  })

  test('creates a key with another role and another expiry', async () => {
    await using database = await createDatabase()
    const create = ['admin', 'create', '--role', 'finance', '--expires', 'never']
    const { stderr } = await kinora(create, environmentOf(database.url))
    expect(stderr).toContain('The key has the role finance and does not expire.')
    const { rows } = await database.postgres.query('select role, expires_at from keys')
    expect(rows).toEqual([{ role: 'finance', expires_at: null }])
  })

  test.each([
    [['--role', 'owner'], '--role must be one of read, support, finance, admin, got "owner".\n'],
    [['--expires', '0'], '--expires must be a number of days between 1 and 36500, or "never", got "0".\n'],
    [
      ['--expires', 'soon'],
      '--expires must be a number of days between 1 and 36500, or "never", got "soon".\n',
    ],
  ])('rejects %s', async (options, stderr) => {
    const environment = environmentOf('postgres://127.0.0.1:9/none')
    await expect(kinora(['admin', 'create', ...options], environment)).rejects.toMatchObject({
      code: 1,
      stderr,
    })
  })
})

test('migrate changes nothing in a database that is up to date', async () => {
  await using database = await createDatabase()
  const { stdout } = await kinora(['migrate'], { DATABASE_URL: database.url })
  expect(stdout).toBe('The database is up to date.\n')
})

test('audit lists every invariant and exits with 1 if one is violated', async () => {
  await using database = await createDatabase()
  const environment = { DATABASE_URL: database.url }
  const accountId = await createAccount(database.postgres)
  const { stdout } = await kinora(['audit'], environment)
  expect(stdout).toMatch(/^ok {8}balances_match_legs$/m)
  expect(stdout).toMatch(/The ledger is consistent \(\d+ ms\)\.\n$/)

  await database.postgres.query('update balances set available_micros = available_micros + 1')
  await expect(kinora(['audit'], environment)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      new RegExp(
        `VIOLATED {2}balances_match_legs: 1\n[^]*${accountId} payg[^]*inconsistent: 1 of \\d+ invariants`,
      ),
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

test('migrate applies all migrations to an empty database in order', async () => {
  await using database = await createDatabase()
  await database.postgres.query('drop schema public cascade')
  await database.postgres.query('create schema public')
  const { stdout } = await kinora(['migrate'], { DATABASE_URL: database.url })
  expect(stdout).toMatch(/^Applied 0001-initial-schema\.sql, 0002-partitions\.sql/)
})

test('invalid settings exit with 78 and an unreachable database with 1, each with a fix in the message', async () => {
  await expect(kinora(['api'], {})).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringContaining('DATABASE_URL is required'),
  })
  await expect(kinora(['migrate'], { DATABASE_URL: 'x', LOG_LEVEL: 'loud' })).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringContaining('LOG_LEVEL must be one of trace, debug,'),
  })
  await expect(kinora(['migrate'], { DATABASE_URL: 'postgres://127.0.0.1:9/none' })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^PostgreSQL at 127\.0\.0\.1:9\/none \(DATABASE_URL\) cannot be used: .* Check that it is running/,
    ),
  })
})

test.for(['api', 'worker', 'local'])(
  '%s with invalid settings waits for a signal if it must not be restarted, and other commands exit',
  async (role) => {
    const environment = { ON_INVALID_SETTINGS: 'wait', LOCAL_RENDERS: 'many' }
    const child = spawn(process.execPath, [program, role], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const lines: string[] = []
    for await (const line of createInterface(child.stderr)) {
      lines.push(line)
      if (line === 'Correct them, and start this container again.') break
    }
    expect(lines.join('\n')).toContain('LOCAL_RENDERS must be a whole number')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([78, null])
    await expect(kinora(['migrate'], environment)).rejects.toMatchObject({ code: 78 })
  },
)

test.for(['abc', '0', '65536', '80.5', '-1', ''])('dev rejects --port %s', async (port, { signal }) => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-operator-'))
  await expect(kinora(['dev', '--port', port, '--data', directory.path], {}, signal)).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: `--port must be a number between 1 and 65535, got "${port}".\nSee kinora dev --help\n`,
  })
})

test('an empty option is rejected', async () => {
  await expect(kinora(['dev', '--data', ''], {})).rejects.toMatchObject({
    code: 2,
    stderr: '--data must not be empty. Leave it out to use the default.\nSee kinora dev --help\n',
  })
  const environment = { DATABASE_URL: 'postgres://127.0.0.1:9/none', KEY_HASH_SECRETS: keySecret }
  await expect(kinora(['admin', 'create', '--name', ' '], environment)).rejects.toMatchObject({
    code: 2,
    stderr: '--name must not be empty. Leave it out to use the default.\nSee kinora admin create --help\n',
  })
})

describe('a role', () => {
  /** The settings that a role needs. No engine listens at these addresses. */
  const environmentOf = async (databaseUrl: string, directory: string) => ({
    DATABASE_URL: databaseUrl,
    KEY_HASH_SECRETS: keySecret,
    LINK_SECRETS: linkSecret,
    AUDIT_SECRETS: auditSecret,
    MEDIA_DIRECTORY: directory,
    PORT: String((await reservePorts(directory, ['api'])).api),
    RESTATE_INGRESS_URL: 'http://127.0.0.1:9',
    RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
  })

  test.each([
    ['api', /^CURRENCY is EUR, but the amounts .* in USD\. .* Set CURRENCY=USD, or .*\n$/],
    [
      'worker',
      /^CURRENCY is EUR, but this instance was started with USD\. Set CURRENCY=USD for every role\.\n$/,
    ],
  ])('%s does not start with a currency that differs from its database', async (role, message) => {
    await using database = await createDatabase()
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-operator-'))
    // A worker creates no amounts, so it never changes the currency, even in a database without amounts.
    if (role === 'api') await createAccount(database.postgres)
    await database.postgres.query(`insert into instance_settings (settings, currency) values ('{}', 'USD')`)
    const environment = await environmentOf(database.url, directory.path)
    await expect(kinora([role], { ...environment, CURRENCY: 'EUR' })).rejects.toMatchObject({
      code: 78,
      stdout: '',
      stderr: expect.stringMatching(message),
    })
  })

  test('api warns if other machines cannot open its links and names the setting to change', async () => {
    await using database = await createDatabase()
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-operator-'))
    const environment = await environmentOf(database.url, directory.path)
    const child = spawn(process.execPath, [program, 'api'], {
      env: { PATH: process.env['PATH'], ...environment, HOST: '0.0.0.0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: { level: number; msg: string; warning?: string }[] = []
    for await (const line of createInterface(child.stdout)) {
      lines.push(JSON.parse(line) as (typeof lines)[number])
      if (lines.at(-1)?.msg === 'api.started') break
    }
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(lines.filter(({ msg }) => msg === 'config.warning')).toMatchObject([
      { level: 40, warning: expect.stringContaining('Set PUBLIC_URL to the URL that clients use') },
    ])
  })
})

test('api listens on ADMIN_PORT and serves the admin API only there', async () => {
  await using database = await createDatabase()
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-operator-'))
  const ports = await reservePorts(directory.path, ['api', 'admin'])
  const child = spawn(process.execPath, [program, 'api'], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      ...{ KEY_HASH_SECRETS: keySecret, LINK_SECRETS: linkSecret, AUDIT_SECRETS: auditSecret },
      MEDIA_DIRECTORY: directory.path,
      PORT: String(ports.api),
      ADMIN_PORT: String(ports.admin),
      ...{ RESTATE_INGRESS_URL: 'http://127.0.0.1:9', RESTATE_ADMIN_URL: 'http://127.0.0.1:9' },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) if (line.includes('api.started')) break
  const statusOf = async (port: number, path: string) =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status
  expect(await statusOf(ports.admin, '/admin/v1/accounts')).toBe(401)
  expect(await statusOf(ports.api, '/admin/v1/accounts')).toBe(404)
  expect(await statusOf(ports.admin, '/v1/models')).toBe(404)
  expect(await statusOf(ports.api, '/v1/models')).toBe(401)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
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
        AUDIT_SECRETS: auditSecret,
        MEDIA_DIRECTORY: directory,
        RESTATE_INGRESS_URL: 'http://127.0.0.1:9',
        RESTATE_ADMIN_URL: 'http://127.0.0.1:9',
      }
      return await kinora(command.split(' '), environment, signal)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  }

  test('exits with 1 and names the command to run if the database is empty', async ({ signal }) => {
    await using database = await createDatabase()
    await database.postgres.query('drop schema public cascade')
    await database.postgres.query('create schema public')
    await expect(start(database.url, signal)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'The database has not been migrated. Run `kinora migrate` and start again.\n',
    })
  })

  test('exits with 1 and names the missing migrations', async ({ signal }) => {
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

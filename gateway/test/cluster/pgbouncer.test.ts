/** PgBouncer in transaction mode between the service and PostgreSQL: what works, and what `kinora doctor` finds. */
import { copyFile, mkdir, mkdtempDisposable, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { postgres as checkPostgres } from '../../../cli/src/doctor/services.ts'
import { migrate } from '../../src/main.ts'
import { createLog } from '../../src/platform/log.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { createPart, until } from '../faults/part.ts'
import { startPostgresServer, type PostgresServer } from '../kit/postgres-server.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { lineAs } from './machine-line.ts'

/** A directory with Debian 13, whose PgBouncer knows prepared statements. Empty for the one of this machine. */
const root = process.env['PGBOUNCER_ROOT'] ?? ''
const prefix = root === '' ? [] : ['chroot', root]
const log = createLog({ level: 'silent' }, 'test')
const started = new AsyncDisposableStack()
const connections = 5
let server: PostgresServer
let pooled = ''

beforeAll(async () => {
  server = started.use(await startPostgresServer())
  const directory = started.use(await mkdtempDisposable(join(tmpdir(), 'kinora-pgbouncer-')))
  await mkdir(join(directory.path, 'logs'))
  const { pgbouncer: port } = await reservePorts(directory.path, ['pgbouncer'])
  const target = new URL(server.url)
  const file = join(directory.path, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
kinora = host=127.0.0.1 port=${target.port} dbname=${target.pathname.slice(1)} user=${target.username} password=${decodeURIComponent(target.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_prepared_statements = 200
default_pool_size = ${connections}
max_client_conn = 500
`,
    { mode: 0o644 },
  )
  const inside = `/tmp/kinora-pgbouncer-${port}.ini`
  await copyFile(file, join(root, inside))
  started.defer(() => rm(join(root, inside)))
  pooled = `postgres://kinora@127.0.0.1:${port}/kinora`
  const [command, ...rest] = [...prefix, ...lineAs({ uid: 65_534, gid: 65_534 }, ['pgbouncer', inside])]
  if (command === undefined) throw new Error('there is no command')
  const bouncer = createPart({
    name: 'pgbouncer',
    line: [command, ...rest],
    environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    logDirectory: join(directory.path, 'logs'),
    untilReady: () =>
      until('PgBouncer accepts connections', async () => {
        const client = new pg.Client(pooled)
        await client.connect()
        await client.end()
        return true
      }),
  })
  started.defer(() => bouncer.kill())
  await bouncer.start()
})
afterAll(() => started.disposeAsync())

const direct = () => ({ url: pooled, directUrl: server.url, connectionsMax: 20 })
const times = <Result>(count: number, work: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

test('prepared statements and transactions share few connections', async () => {
  const postgres = connectPostgres({ ...direct(), statementTimeoutMs: 10_000, lockTimeoutMs: 5_000 }, log)
  const read = async (index: number) => {
    const { rows } = await postgres.query<{ n: number; pid: number }>(
      'select $1::int as n, pg_backend_pid() as pid, pg_sleep(0.01)',
      [index],
    )
    return rows[0]
  }
  const rows = await times(200, read)
  expect(rows.map((row) => row?.n)).toEqual(Array.from({ length: 200 }, (_, index) => index))
  expect(new Set(rows.map((row) => row?.pid)).size).toBeLessThanOrEqual(connections)
  const limits = await times(20, () =>
    postgres.transaction(
      async (database) =>
        (await database.query<{ setting: string }>(`select current_setting('statement_timeout') as setting`))
          .rows[0]?.setting,
      { statementTimeoutMs: 1_234 },
    ),
  )
  expect(new Set(limits)).toEqual(new Set(['1234ms']))
  await postgres.close()
})

test('notifications and locks use the direct connection', async () => {
  const [one, other] = [connectPostgres(direct(), log), connectPostgres(direct(), log)]
  const heard: (string | undefined)[] = []
  const listening = await one.listen('channel', (payload) => heard.push(payload))
  await times(20, () => other.query('select pg_sleep(0.01)'))
  await times(5, (index) => other.notify('channel', String(index)))
  await expect.poll(() => new Set(heard)).toEqual(new Set(['0', '1', '2', '3', '4']))
  const lock = await one.holdLock('a lock')
  expect(lock).toBeDefined()
  expect(await other.holdLock('a lock')).toBeUndefined()
  await lock?.release()
  await listening.stop()
  await Promise.all([one.close(), other.close()])
})

test('without the direct connection, timeouts are refused', async () => {
  const postgres = connectPostgres({ url: pooled, connectionsMax: 1, statementTimeoutMs: 1_000 }, log)
  await expect(postgres.query('select 1')).rejects.toMatchObject({ code: '08P01' })
  await postgres.close()
})

test('doctor finds lost notifications and missing timeouts, and migrations ignore the timeouts of the role', async () => {
  const check = (url: string | undefined) => checkPostgres({ DATABASE_URL: pooled, DATABASE_DIRECT_URL: url })
  expect(await check(undefined)).toMatchObject({
    state: 'failed',
    detail: 'notifications do not arrive: a pooler in transaction mode drops them',
    fix: 'set DATABASE_DIRECT_URL to the address of PostgreSQL itself',
  })
  expect(await check(pooled)).toMatchObject({ fix: 'let DATABASE_DIRECT_URL lead to PostgreSQL itself' })
  const missing = await check(server.url)
  expect(missing).toMatchObject({
    state: 'warning',
    fix: expect.stringMatching(
      /^alter role \w+ set statement_timeout = '10s'; alter role \w+ set lock_timeout = '5s';/,
    ),
  })
  for (const statement of missing.fix?.split(';').slice(0, 2) ?? []) await server.postgres.query(statement)
  await server.postgres.query(`alter role current_user set statement_timeout = '1ms'`)
  const fresh = connectPostgres({ url: server.url, connectionsMax: 1 }, log)
  await expect(fresh.query('select pg_sleep(1)')).rejects.toMatchObject({ code: '57014' })
  await fresh.close()
  const config = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: server.url, LOG_LEVEL: 'silent' as const }
  expect(await migrate(config)).toEqual([])
})

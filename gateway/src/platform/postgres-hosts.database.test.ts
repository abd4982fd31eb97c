/** Several hosts of PostgreSQL, of which one is the primary, and another one after a promotion. */
import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { thisMachine } from '../../test/cluster/machine-line.ts'
import { startPostgresPair, type PostgresPair } from '../../test/cluster/postgres-pair.ts'
import { reservePorts } from '../../test/kit/reserve-ports.ts'
import { startProxy } from '../../test/kit/start-gateway.ts'
import { minutes } from '../../test/kit/time-limits.ts'
import { hostUrlsOf } from './hosts/database-url.ts'
import { createLog } from './log.ts'
import { CommitOutcomeUnknown, isDatabaseUnavailable } from './postgres-errors.ts'
import { assertUsable, connectPostgres } from './postgres.ts'

const log = createLog({ level: 'silent' }, 'test')
const started = new AsyncDisposableStack()
let pair: PostgresPair

beforeAll(async () => {
  const directory = started.use(await mkdtempDisposable(join(tmpdir(), 'kinora-pair-')))
  const logs = join(directory.path, 'logs')
  await mkdir(logs)
  const ports = await reservePorts(directory.path, ['first', 'second'])
  pair = await startPostgresPair(
    directory.path,
    [
      { ...thisMachine, port: ports.first },
      { ...thisMachine, port: ports.second },
    ],
    logs,
  )
  started.defer(() => pair.stop())
  await pair.query('create table notes (text text)')
}, minutes(3))
afterAll(() => started.disposeAsync())

const reversed = (url: string) => url.replace(/@([^,]+),([^/]+)/, '@$2,$1')
const isWritable = async (postgres: ReturnType<typeof connectPostgres>) => {
  const { rows } = await postgres.query<{ setting: string }>(
    `select current_setting('transaction_read_only') as setting`,
  )
  return rows[0]?.setting === 'off'
}

test('the primary is used, wherever it is in the list', async () => {
  for (const url of [pair.url, reversed(pair.url)]) {
    const postgres = connectPostgres({ url, connectionsMax: 3 }, log)
    try {
      await assertUsable(postgres, url)
      expect(await Promise.all([isWritable(postgres), isWritable(postgres)])).toEqual([true, true])
    } finally {
      await postgres.close()
    }
  }
})

test('a commit that the standby has not received is not reported as a success', async () => {
  const postgres = connectPostgres({ url: pair.url, connectionsMax: 2, statementTimeoutMs: 1_000 }, log)
  const standby = pair.servers[pair.primary() === 0 ? 1 : 0]
  await postgres.query(`insert into notes values ('replicated')`)
  await standby.kill()
  try {
    await expect(postgres.query(`insert into notes values ('alone')`)).rejects.toThrow('Query read timeout')
    await expect(
      postgres.transaction((database) => database.query(`insert into notes values ('alone')`)),
    ).rejects.toBeInstanceOf(CommitOutcomeUnknown)
  } finally {
    await standby.start()
    await postgres.close()
  }
})

test('queries and notifications continue on the promoted standby', async () => {
  const postgres = connectPostgres({ url: pair.url, connectionsMax: 3, statementTimeoutMs: 5_000 }, log)
  const heard: (string | undefined)[] = []
  const listening = await postgres.listen('channel', (payload) => heard.push(payload))
  await postgres.query(`insert into notes values ('before')`)

  await pair.promote()
  const attempts: unknown[] = []
  await expect
    .poll(async () => {
      try {
        await postgres.query(`insert into notes values ('after')`)
        return 'inserted'
      } catch (error) {
        attempts.push(error)
        return 'failed'
      }
    })
    .toBe('inserted')
  expect(attempts.filter((error) => !isDatabaseUnavailable(error))).toEqual([])
  await expect.poll(() => heard).toContain(undefined)
  await postgres.notify('channel', 'again')
  await expect.poll(() => heard.at(-1)).toBe('again')
  expect((await pair.query<{ text: string }>('select text from notes')).map(({ text }) => text)).toEqual(
    expect.arrayContaining(['replicated', 'before', 'after']),
  )

  await pair.rejoin()
  expect(await isWritable(postgres)).toBe(true)
  await listening.stop()
  await postgres.close()
})

test('while the server has no connection left, those of the pool are used without a search', async () => {
  const postgres = connectPostgres({ url: pair.url, connectionsMax: 2 }, log)
  const other = connectPostgres({ url: pair.url.replace(/kinora$/, 'postgres'), connectionsMax: 1 }, log)
  await Promise.all([isWritable(postgres), isWritable(postgres)])
  await other.query('alter database kinora allow_connections false')
  try {
    // This one is removed from the pool.
    await expect(
      postgres.query(`do $$ begin raise exception using errcode = '53300'; end $$`),
    ).rejects.toMatchObject({ code: '53300' })
    expect(await isWritable(postgres)).toBe(true)
  } finally {
    await other.query('alter database kinora allow_connections true')
    await Promise.all([postgres.close(), other.close()])
  }
})

/** Connects through a proxy to the primary, and directly to the standby. */
const connectThroughProxy = async () => {
  const urls = hostUrlsOf(pair.url)
  const proxy = await startProxy(urls[pair.primary()] ?? '')
  const hosts = urls.with(pair.primary(), proxy.url).map((url) => new URL(url).host)
  const url = pair.url.replace(/@[^/]+/, `@${hosts.join()}`)
  return { proxy, postgres: connectPostgres({ url, connectionsMax: 2, connectTimeoutMs: 0 }, log) }
}

test('connections to a primary that was replaced are closed, although it still accepts writes', async () => {
  const postgres = connectPostgres({ url: pair.url, connectionsMax: 3 }, log)
  const listening = await postgres.listen('channel', () => undefined)
  const portOf = async (connected = postgres) =>
    (await connected.query<{ port: number }>('select inet_server_port() as port')).rows[0]?.port
  const before = await portOf()
  const stalled = await connectThroughProxy()
  expect(await portOf(stalled.postgres)).toBe(before)
  stalled.proxy.stall()
  // One on the open connection, and one that waits for a new connection.
  const waiting = [1, 2].map(() => portOf(stalled.postgres).catch(isDatabaseUnavailable))
  await pair.separate()
  expect(await Promise.all(waiting)).toEqual([true, true])
  expect(await portOf(stalled.postgres)).not.toBe(before)
  await stalled.postgres.close()
  await stalled.proxy[Symbol.asyncDispose]()
  await expect.poll(() => portOf().catch(() => before)).not.toBe(before)
  await expect
    .poll(() => pair.query(`select from pg_stat_activity where application_name = 'kinora, listening'`))
    .toHaveLength(1)
  await listening.stop()
  await postgres.close()

  // A process that starts now does not use the replaced one first, whichever responds first.
  for (let index = 0; index < 8; index += 1) {
    const url = index % 2 === 0 ? pair.url : reversed(pair.url)
    const fresh = connectPostgres({ url, connectionsMax: 1 }, log)
    expect(await portOf(fresh)).not.toBe(before)
    await fresh.close()
  }
})

test('without a primary, the error names every host and why it is not one', async () => {
  await pair.stop()
  const postgres = connectPostgres({ url: pair.url, connectionsMax: 1 }, log)
  await expect(assertUsable(postgres, pair.url)).rejects.toThrow(
    /^PostgreSQL at 127\.0\.0\.1:\d+\/kinora, 127\.0\.0\.1:\d+\/kinora \(DATABASE_URL\) cannot be used: no host accepts writes \(127\.0\.0\.1:\d+\/kinora: ECONNREFUSED; /,
  )
  await expect(postgres.query('select 1')).rejects.toSatisfy(isDatabaseUnavailable)
  await postgres.close()
})

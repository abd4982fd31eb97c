/**
 * A PostgreSQL that keeps its connections open and does not respond. A request that is answered before the database
 * resumes did not wait for it, however slow the machine is.
 */
import { randomUUID } from 'node:crypto'

import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { renameStoredCharacter } from '../../src/characters/character-store.ts'
import { createLog, logOptions } from '../../src/platform/log.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { ask, askJson, expectProblem, type Answer } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { startPostgresServer, type PostgresServer } from '../kit/postgres-server.ts'
import { createSpender } from '../kit/spender.ts'
import { startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const spender = () => createSpender(gateway.database.postgres, 1_000)
type Spender = Awaited<ReturnType<typeof spender>>

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const create = (url: string, { text }: Spender, headers: Record<string, string> = {}): Promise<Answer> =>
  askJson(`${url}/v1/videos`, text, order, headers)
const tasksOf = async ({ account }: Spender): Promise<string[]> => {
  const { rows } = await gateway.database.postgres.query<{ id: string }>(
    'select id from video_tasks where account_id = $1',
    [account],
  )
  return rows.map(({ id }) => id)
}

const expectUnavailable = (answer: Answer) => {
  expectProblem(answer, 'service_unavailable')
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
}
const expectSound = async () => expect(await brokenInvariants(gateway.database.postgres)).toEqual([])

// Short enough for a test, and long enough for a slow machine while the database responds.
const shortTimeouts = {
  DATABASE_CONNECT_TIMEOUT_MS: '2000',
  DATABASE_LOCK_TIMEOUT_MS: '2000',
  DATABASE_STATEMENT_TIMEOUT_MS: '2000',
}

describe('while the database does not respond', () => {
  test('every request gets a 503 with Retry-After, and requests work again afterwards', async () => {
    await using proxy = await startProxy(gateway.database.url)
    await using behind = await startGateway({ ...shortTimeouts, DATABASE_URL: proxy.url }, gateway)
    const who = await spender()
    const { id } = (await create(gateway.url, who)).body
    const other = await createKey(gateway.database.postgres, who.account)
    const readyz = () => ask(`${behind.url}/readyz`, undefined)
    expect((await readyz()).status).toBe(200)
    proxy.stall()
    const asked = () => [
      create(behind.url, who),
      create(behind.url, who, { 'idempotency-key': randomUUID() }),
      ask(`${behind.url}/v1/videos/${String(id)}`, who.text),
      ask(`${behind.url}/v1/models`, other.text),
      readyz(),
    ]
    const answers = await Promise.all(Array.from({ length: 20 }, asked).flat())
    for (const answer of answers) expectUnavailable(answer)
    expect((await ask(`${behind.url}/livez`, undefined)).status).toBe(200)
    expect(await tasksOf(who)).toEqual([id])
    proxy.resume()
    await expect.poll(async () => (await readyz()).status).toBe(200)
    await expect.poll(async () => (await create(behind.url, who)).status).toBe(200)
    await expectSound()
  })

  test('readiness is answered although queries have no timeout', async () => {
    await using proxy = await startProxy(gateway.database.url)
    const noTimeouts = { DATABASE_CONNECT_TIMEOUT_MS: '0', DATABASE_STATEMENT_TIMEOUT_MS: '0' }
    await using behind = await startGateway({ ...noTimeouts, DATABASE_URL: proxy.url }, gateway)
    proxy.stall()
    const answer = await ask(`${behind.url}/readyz`, undefined)
    expectUnavailable(answer)
    expect(answer.body['error']).toHaveProperty(
      'message',
      'Not ready: PostgreSQL (DATABASE_URL) does not respond.',
    )
    proxy.resume()
    await expect.poll(async () => (await ask(`${behind.url}/readyz`, undefined)).status).toBe(200)
  })

  test('a process can stop', async () => {
    await using proxy = await startProxy(gateway.database.url)
    const behind = await startGateway({ ...shortTimeouts, DATABASE_URL: proxy.url }, gateway)
    proxy.stall()
    await behind[Symbol.asyncDispose]()
  })
})

describe('a PostgreSQL server', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgresServer()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('whose processes are suspended causes 503, until they are resumed', async () => {
    await using behind = await startGateway(
      { ...shortTimeouts, DATABASE_URL: server.url },
      { ...gateway, database: server },
    )
    const who = await createSpender(server.postgres, 1_000)
    const { id } = (await create(behind.url, who)).body
    const asked = () => [
      create(behind.url, who),
      ask(`${behind.url}/v1/videos/${String(id)}`, who.text),
      ask(`${behind.url}/readyz`, undefined),
    ]
    server.suspend()
    for (const answer of await Promise.all(Array.from({ length: 5 }, asked).flat())) expectUnavailable(answer)
    // Connections that are made now are not answered either.
    for (const answer of await Promise.all(asked())) expectUnavailable(answer)
    server.resume()
    await expect.poll(async () => (await create(behind.url, who)).status).toBe(200)
    expect(await brokenInvariants(server.postgres)).toEqual([])
  })

  test('logs no value of a statement that fails, and neither do we', async () => {
    const lines: string[] = []
    const log = pino(logOptions('trace', 'test'), { write: (line) => void lines.push(line) })
    const postgres = connectPostgres({ url: server.url, connectionsMax: 2 }, log)
    const word = 'planted-whale'
    const account = await createAccount(postgres)
    const failing: [string, unknown[]][] = [
      [
        'insert into plans (id, name, cycle_quota_micros, cycle_days) values ($1, $2, 1, 1)',
        [randomUUID(), word],
      ],
      ['insert into characters (id, username) values ($1, $2)', [randomUUID(), word]],
      [
        `insert into characters (id, account_id, username, source, clip_media_id, portrait_media_id)
         values ($1, $3, $2, $2, $1, $1)`,
        [randomUUID(), `${word}!`, account],
      ],
    ]
    await postgres.query(failing[0]?.[0] ?? '', [randomUUID(), word])
    for (const [text, values] of failing) {
      const error: unknown = await postgres.query(text, values).catch((thrown: unknown) => thrown)
      expect(JSON.stringify(error)).toContain(word)
      log.warn({ err: error }, 'it.failed')
    }
    await postgres.close()
    expect(lines.map((line) => (JSON.parse(line) as { err: object }).err)).toMatchObject([
      { code: '23505', constraint: 'plans_name_key' },
      { code: '23502', table: 'characters', column: 'account_id' },
      { code: '23514', constraint: 'characters_username_check' },
    ])
    expect(lines.join('')).not.toContain('planted')
    const written = await server.readLog()
    expect(written).toMatch(/violates unique constraint "plans_name_key"[^]*"characters_username_check"/)
    expect(written).not.toContain('planted')
  })

  test('logs nothing if a character is renamed to a name that is in use', async () => {
    const account = await createAccount(server.postgres)
    const ids = ['first.name', 'second.name'].map((username) => ({ id: randomUUID(), username }))
    await server.postgres.transaction(async (database) => {
      // Without its files.
      await database.query('set local session_replication_role = replica')
      for (const { id, username } of ids) {
        await database.query(
          `insert into characters (id, account_id, username, source, clip_media_id, portrait_media_id)
           values ($1, $2, $3, $3, $1, $1)`,
          [id, account, username],
        )
      }
    })
    const before = await server.readLog()
    const rename = (id: string, username: string) =>
      renameStoredCharacter(server.postgres, account, id, username)
    expect(await rename(ids[0]?.id ?? '', 'second.name')).toBe('in_use')
    expect(await rename(ids[0]?.id ?? '', 'first.name')).toMatchObject({ username: 'first.name' })
    expect(await rename(ids[0]?.id ?? '', 'third.name')).toMatchObject({ username: 'third.name' })
    expect(await rename(randomUUID(), 'second.name')).toBeUndefined()
    expect(await server.readLog()).toBe(before)
  })
})

describe('a commit without a response', () => {
  test('that succeeded is found, and its task is returned', async () => {
    await using proxy = await startProxy(gateway.database.url)
    await using behind = await startGateway({ ...shortTimeouts, DATABASE_URL: proxy.url }, gateway)
    const who = await spender()
    const lost = proxy.loseCommitOf('insert into video_tasks', true, { isSilent: true })
    const answer = await create(behind.url, who)
    await lost
    expect(answer.status).toBe(200)
    expect(await tasksOf(who)).toEqual([answer.body['id']])
    await expectSound()
  })

  test.each([
    ['succeeded', true],
    ['did not reach the server', false],
  ])('that %s leads to one task if the request is repeated with its key', async (_, isCommitted) => {
    await using proxy = await startProxy(gateway.database.url)
    await using behind = await startGateway({ ...shortTimeouts, DATABASE_URL: proxy.url }, gateway)
    const who = await spender()
    const headers = { 'idempotency-key': randomUUID() }
    const lost = proxy.loseCommitOf('insert into video_tasks', isCommitted, { isSilent: true })
    const answering = create(behind.url, who, headers)
    await lost
    proxy.stall()
    const answer = await answering
    expectUnavailable(answer)
    expect(answer.body['error']).toHaveProperty(
      'message',
      expect.stringContaining('may have been carried out'),
    )
    proxy.resume()
    await expect
      .poll(async () => (await create(behind.url, who, headers)).status, { interval: 500 })
      .toBe(200)
    const repeated = await create(behind.url, who, headers)
    expect(repeated.headers.get('idempotent-replayed')).toBe('true')
    expect(await tasksOf(who)).toEqual([repeated.body['id']])
    await expectSound()
  })
})

describe('a lock that another transaction holds', () => {
  test('fails the creates of its account with a 503, and no others', async () => {
    await using behind = await startGateway({ DATABASE_LOCK_TIMEOUT_MS: '1000' }, gateway)
    const [locked, free] = [await spender(), await spender()]
    const { url } = gateway.database
    const holder = connectPostgres({ url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test'))
    await holder.transaction(async (database) => {
      await database.query('select 1 from balances where account_id = $1 for update', [locked.account])
      // They arrive together, so they share a batch.
      const [refused, accepted] = await Promise.all([
        Promise.all(Array.from({ length: 4 }, () => create(behind.url, locked))),
        Promise.all(Array.from({ length: 4 }, () => create(behind.url, free))),
      ])
      for (const answer of refused) expectUnavailable(answer)
      expect(accepted.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    })
    await holder.close()
    expect(await tasksOf(locked)).toEqual([])
    // For a few seconds it is not tried again.
    await expect.poll(async () => (await create(behind.url, locked)).status).toBe(200)
    await expectSound()
  })
})

describe('a statement', () => {
  test('that takes too long is cancelled by the server, and its connection is used again', async () => {
    const { url } = gateway.database
    const log = createLog({ level: 'silent' }, 'test')
    const postgres = connectPostgres({ url, connectionsMax: 1, statementTimeoutMs: 1_000 }, log)
    const pidOf = async () => (await postgres.query('select pg_backend_pid() as pid')).rows[0]
    const slow = 'select pg_sleep(60)'
    await expect(postgres.query(slow)).rejects.toMatchObject({ code: '57014' })
    const pid = await pidOf()
    await expect(postgres.transaction((database) => database.query(slow))).rejects.toMatchObject({
      code: '57014',
    })
    expect(await pidOf()).toEqual(pid)
    await postgres.close()
  })

  test('without a response loses its connection, so that no other query gets that response', async () => {
    await using proxy = await startProxy(gateway.database.url)
    const log = createLog({ level: 'silent' }, 'test')
    const postgres = connectPostgres({ url: proxy.url, connectionsMax: 1, statementTimeoutMs: 1_000 }, log)
    for (const run of [
      () => postgres.query('select 1 as late'),
      () => postgres.transaction((database) => database.query('select 1 as late')),
    ]) {
      await postgres.query('select 0')
      proxy.stall()
      await expect(run()).rejects.toThrow('Query read timeout')
      proxy.resume()
      await expect
        .poll(() => postgres.query('select 2 as next').catch(() => undefined))
        .toMatchObject({ rows: [{ next: 2 }] })
    }
    await postgres.close()
  })
})

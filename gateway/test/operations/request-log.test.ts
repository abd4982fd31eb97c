import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { CompletedRequest } from '../../src/http/completed-request.ts'
import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { createLog, logOptions } from '../../src/platform/log.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { createRequestRecorder } from '../../src/request-log/record-requests.ts'
import { ask, askJson, expectProblem, form } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: TestKey
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
  operator = await createKey(postgres, accountId, { kind: 'admin' })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const list = (search: string) => ask(`${gateway.url}/admin/v1/requests${search}`, operator.text)
const dataOf = ({ body }: { body: Record<string, unknown> }) => body['data'] as Record<string, unknown>[]

/** Waits until as many requests are found, because they are written down a moment later. */
const found = async (search: string, count: number) => {
  let data: Record<string, unknown>[] = []
  await expect.poll(async () => (data = dataOf(await list(search)))).toHaveLength(count)
  return data
}
const requestIdOf = ({ headers }: { headers: Headers }) => headers.get('x-request-id')

const order = { model: 'vidB-2', prompt: 'A secret whale', seconds: '4', size: '480x480' }

describe('the request log', () => {
  test('records caller, operation, status and task of a request, and none of its content', async () => {
    const answer = await ask(`${gateway.url}/v1/videos?note=secret-query`, key.text, {
      method: 'POST',
      body: form(order),
      headers: { 'user-agent': 'a-client/1.0' },
    })
    const id = String(answer.body['id'])
    const [logged] = await found(`?task_id=${id}`, 1)
    expect(logged).toEqual({
      id: requestIdOf(answer),
      object: 'request',
      at: expect.closeTo(Date.now() / 1000, -1),
      account_id: accountId,
      account_name: `account ${accountId}`,
      key_id: key.id,
      key_name: 'a key of a test',
      operation: 'createVideo',
      method: 'POST',
      path: '/v1/videos',
      status: 200,
      error_code: null,
      model: 'vidB-2',
      provider: null,
      task_id: id,
      duration_ms: expect.any(Number),
      address: '127.0.0.1',
      user_agent: 'a-client/1.0',
    })
    await ask(`${gateway.url}/v1/videos/${id}`, key.text)
    await found(`?task_id=${id}&operation=getVideo`, 1)
    const { rows } = await gateway.database.postgres.query<{ leaks: number }>(
      `select count(*) as leaks from request_log r where r::text like '%secret%' or r::text like '%' || $1 || '%'`,
      [key.text],
    )
    expect(rows).toEqual([{ leaks: 0 }])
  })

  test('records the route with UUIDs, and no other part of a path', async () => {
    const other = await createKey(gateway.database.postgres, accountId)
    const task = await askJson(`${gateway.url}/v1/videos`, other.text, order)
    const id = String(task.body['id'])
    const encoded = other.text.replace('s', '%73').replace('-', '%2d')
    for (const path of [`models/${other.text}`, `models/${encoded}`, 'planted-word', `videos/${id}`]) {
      await ask(`${gateway.url}/v1/${path}`, other.text)
    }
    const character = `char_${uuidV7()}`
    await ask(`${gateway.url}/vidB/v1/characters/${character}`, other.text)
    const logged = await found(`?key_id=${other.id}`, 5)
    expect(logged.filter((each) => each['task_id'] === id)).toHaveLength(2)
    expect(new Set(logged.map(({ path }) => path))).toEqual(
      new Set(['/v1/models/:id', '/v1/videos', '/v1/videos/:id', `/vidB/v1/characters/${character}`]),
    )
    const { rows } = await gateway.database.postgres.query(
      `select from request_log r where r::text like '%planted%' or r::text like '%' || $1 || '%'`,
      [other.text],
    )
    expect(rows).toHaveLength(0)
  })

  test('the lines of the log have no text of a caller', async () => {
    const lines: string[] = []
    const log = pino(logOptions('trace', 'api'), { write: (line) => void lines.push(line) })
    await using logging = await startGateway({}, gateway, log)
    const send = (path: string, given?: object, headers: Record<string, string> = {}) =>
      ask(`${logging.url}${path}`, key.text, {
        method: given === undefined ? 'GET' : 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'planted-agent' },
        ...(given !== undefined && { body: JSON.stringify(given) }),
      })
    const image = 'http://planted.invalid/planted.png'
    const statuses = [
      await send('/planted/path?planted=1'),
      await send('/v1/models/planted-model', undefined, { 'x-client-request-id': 'planted by a caller' }),
      await send('/characters/planted-name', undefined, { 'x-client-request-id': 'id-of_a.client:1' }),
      await send('/v1/videos', { ...order, model: 'planted-model' }),
      await send('/v1/videos', { ...order, seconds: 'planted' }),
      await send('/v1/videos', { ...order, planted: 'planted', input_reference: image }),
      await send('/v1/videos', { ...order, prompt: 'A planted whale' }, { 'idempotency-key': 'planted-key' }),
      await send('/v1/audio/speech', { model: 'planted', input: 'planted', voice: 'planted' }),
    ].map(({ status }) => status)
    expect(statuses).toEqual([
      404,
      404,
      404,
      expect.anything(),
      400,
      expect.anything(),
      200,
      expect.anything(),
    ])
    const completed = () =>
      lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => msg === 'request.completed')
    await expect.poll(() => completed().length).toBe(statuses.length)
    expect(completed()[0]).toMatchObject({ path: '(unknown)', status: 404, code: 'endpoint_not_found' })
    expect(completed()[1]).not.toHaveProperty('clientRequestId')
    expect(completed()[2]).toMatchObject({ clientRequestId: 'id-of_a.client:1' })
    expect(lines.filter((line) => line.includes('planted'))).toEqual([])
  })

  test('records refused requests of a valid key with their error code', async () => {
    const other = await createKey(gateway.database.postgres, accountId)
    const refused = await askJson(`${gateway.url}/v1/videos`, other.text, { ...order, seconds: 999 })
    expect(refused.status).toBe(400)
    const [logged] = await found(`?key_id=${other.id}`, 1)
    expect(logged).toMatchObject({
      status: 400,
      error_code: 'invalid_parameter',
      model: 'vidB-2',
      task_id: null,
    })
  })

  test('records no refused anonymous requests, but those of keys without permission', async () => {
    const { postgres } = gateway.database
    const elsewhere = await createKey(postgres, accountId, { addresses: ['192.0.2.1'] })
    const link = `/media/${uuidV7()}/video.mp4?expires=1&key=00000000&signature=x`
    const refused = [
      await ask(`${gateway.url}/v1/videos/nothing-of-ours`, 'sk-wrong'),
      await ask(`${gateway.url}/v1/models`, undefined),
      await ask(`${gateway.url}/nowhere/${key.text}`, undefined),
      await ask(`${gateway.url}/v1/models`, undefined, { method: 'PUT' }),
      await ask(`${gateway.url}${link}`, undefined),
    ]
    const forbidden = await ask(`${gateway.url}/v1/models`, elsewhere.text)
    expect([...refused, forbidden].map(({ status }) => status)).toEqual([401, 401, 404, 405, 404, 403])
    const [logged] = await found('?error_code=ip_not_allowed', 1)
    expect(logged).toMatchObject({ id: requestIdOf(forbidden), key_id: null })
    const { rows } = await postgres.query('select from request_log where id = any($1)', [
      refused.map(requestIdOf),
    ])
    expect(rows).toHaveLength(0)
  })

  test('names no unknown model', async () => {
    const other = await createKey(gateway.database.postgres, accountId)
    await askJson(`${gateway.url}/v1/videos`, other.text, { ...order, model: 'a prompt in the wrong place' })
    const [logged] = await found(`?key_id=${other.id}`, 1)
    expect(logged).toMatchObject({ error_code: 'model_not_found', model: null })
  })

  test('records the requests of operators with their key, and no health probes', async () => {
    await ask(`${gateway.url}/readyz`, undefined)
    const other = await createKey(gateway.database.postgres, accountId, { kind: 'admin' })
    await ask(`${gateway.url}/admin/v1/tasks`, other.text)
    const [logged] = await found(`?key_id=${other.id}`, 1)
    expect(logged).toMatchObject({ operation: 'listTasks', account_id: null })
    const { rows } = await gateway.database.postgres.query('select from request_log where path = $1', [
      '/readyz',
    ])
    expect(rows).toHaveLength(0)
  })

  test('pages list each request once, newest first, while new ones arrive', async () => {
    const other = await createKey(gateway.database.postgres, accountId)
    for (let count = 0; count < 7; count += 1) await ask(`${gateway.url}/v1/models`, other.text)
    const all = await found(`?key_id=${other.id}`, 7)
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`
      const page = await list(`?key_id=${other.id}&limit=3${after}`)
      seen.push(...dataOf(page))
      cursor = page.body['next'] as string | null
      await ask(`${gateway.url}/v1/models`, other.text)
    }
    expect(seen).toEqual(all)
    const times = all.map(({ at }) => Number(at))
    expect(times).toEqual(times.toSorted((a, b) => b - a))
  })

  test('can be filtered by account, operation, status, model and time', async () => {
    const { postgres } = gateway.database
    const ownAccount = await createAccount(postgres)
    const own = await createKey(postgres, ownAccount)
    await askJson(`${gateway.url}/v1/videos`, own.text, order)
    await ask(`${gateway.url}/v1/models`, own.text)
    const ofAccount = `?account_id=${ownAccount}`
    await found(ofAccount, 2)
    await found(`${ofAccount}&operation=listModels`, 1)
    await found(`${ofAccount}&status=404`, 0)
    await found(`${ofAccount}&model=vidB-2`, 1)
    const now = Math.floor(Date.now() / 1000)
    await found(`${ofAccount}&from=${now - 60}&to=${now + 60}`, 2)
    await found(`${ofAccount}&to=${now - 60}`, 0)
    await found(`${ofAccount}&from=${now + 60}`, 0)
  })

  test.each([
    ['cursor', '?cursor=nonsense'],
    ['account_id', '?account_id=me'],
    ['key_id', '?key_id=1'],
    ['id', '?id=nonsense'],
    ['status', '?status=99'],
    ['limit', '?limit=0'],
    ['to', '?to=999999999999999'],
  ])('400 invalid_parameter: %s in %s', async (param, search) => {
    expectProblem(await list(search), 'invalid_parameter', param)
  })

  test('finds a request by the id in its error, and by that in its header', async () => {
    const refused = await askJson(`${gateway.url}/v1/videos`, key.text, { ...order, seconds: 999 })
    const { request_id: id } = refused.body['error'] as { request_id: string }
    const [logged] = await found(`?id=${id}`, 1)
    expect(logged).toMatchObject({ id, status: 400, error_code: 'invalid_parameter', account_id: accountId })
    const read = (of: string) => ask(`${gateway.url}/admin/v1/requests/${of}`, operator.text)
    expect(await read(id)).toMatchObject({ status: 200, body: logged })

    const succeeded = await ask(`${gateway.url}/v1/models`, key.text)
    await expect
      .poll(async () => (await read(requestIdOf(succeeded) ?? '')).body)
      .toMatchObject({ id: requestIdOf(succeeded), operation: 'listModels', status: 200 })
    for (const unknown of [`req_${uuidV7()}`, uuidV7(), 'nonsense', id.toUpperCase()]) {
      expectProblem(await read(unknown), 'resource_not_found')
    }
    await found(`?id=req_${uuidV7()}`, 0)
    await found(`?id=${id}&status=200`, 0)
  })

  test('a customer may not read it', async () => {
    expectProblem(await ask(`${gateway.url}/admin/v1/requests`, key.text), 'access_denied')
  })

  test('a key shows when it was last used, without invalidating the cache of keys', async () => {
    const { postgres } = gateway.database
    const used = await createKey(postgres, accountId)
    const pubsub: (string | undefined)[] = []
    const ear = await postgres.listen('key_changes', (payload) => pubsub.push(payload))
    await ask(`${gateway.url}/v1/models`, used.text)
    const lastUsed = async () => {
      const { rows } = await postgres.query<{ at: Date | null }>(
        'select last_used_at as at from keys where id = $1',
        [used.id],
      )
      return rows[0]?.at ?? null
    }
    await expect.poll(lastUsed).not.toBeNull()
    const first = await lastUsed()
    await ask(`${gateway.url}/v1/models`, used.text)
    await found(`?key_id=${used.id}`, 2)
    expect(await lastUsed()).toEqual(first)
    // What is announced after it has been heard, so nothing was announced before.
    await postgres.query('update keys set name = name where id = $1', [used.id])
    await expect.poll(() => pubsub).toHaveLength(1)
    await ear.stop()
  })
})

const answered = (given: Partial<CompletedRequest>): CompletedRequest => ({
  ...{ id: `req_${uuidV7()}`, at: new Date(), accountId, keyId: key.id, operation: 'listModels' },
  ...{ method: 'GET', path: '/v1/models', status: 200, errorCode: null, model: null },
  ...{ provider: null, taskId: null, durationMs: 1, address: '127.0.0.1', userAgent: null },
  ...given,
})

test('requests that arrive during a write are written together', async () => {
  const { postgres } = gateway.database
  const log = createLog({ level: 'silent' }, 'test')
  const recorder = createRequestRecorder({ postgres, log }, { flushEveryMs: 3_600_000 })
  const readWritten = async () => {
    const { rows } = await postgres.query<{ requests: number; transactions: number }>(
      `select count(*) as requests, count(distinct xmin::text) as transactions from request_log where model = 'of-many'`,
    )
    return rows[0] ?? { requests: 0, transactions: 0 }
  }
  let recorded = 0
  while ((await readWritten()).requests < 2_000) {
    for (let count = 0; count < 10; count += 1) recorder.record(answered({ model: 'of-many' }))
    recorded += 10
  }
  await recorder.close()
  const { requests, transactions } = await readWritten()
  expect(requests).toBe(recorded)
  // Each has 500 requests, except the last ones.
  expect(transactions).toBeLessThanOrEqual(recorded / 500 + 2)
})

test('anonymous requests are counted by operation and status, and only some have rows', async () => {
  const { postgres } = gateway.database
  const lines: unknown[] = []
  const log = createLog({ level: 'silent' }, 'test')
  log.info = (...line: unknown[]) => void lines.push(line)
  const recorder = createRequestRecorder({ postgres, log }, { sampledRowsPerMinute: 3 })
  const anonymous = { accountId: null, keyId: null, model: 'of-nobody' }
  for (let count = 0; count < 5; count += 1) {
    recorder.record(answered({ ...anonymous, operation: 'getMedia' }))
    recorder.count(answered({ ...anonymous, operation: 'none', status: 404 }))
    recorder.record(answered({ model: 'of-nobody' }))
  }
  await recorder.close()
  const requests = [
    { operation: 'getMedia', status: 200, count: 5 },
    { operation: 'none', status: 404, count: 5 },
  ]
  expect(lines).toEqual([[{ requests }, 'requests.anonymous']])
  const { rows } = await postgres.query<Record<string, unknown>>(
    `select operation, count(*) from request_log where model = 'of-nobody' group by operation order by operation`,
  )
  expect(rows).toEqual([
    { operation: 'getMedia', count: 3 },
    { operation: 'listModels', count: 5 },
  ])
})

test('creates that are refused for overload are counted, and only some have rows', async () => {
  const { postgres } = gateway.database
  const lines: unknown[] = []
  const log = createLog({ level: 'silent' }, 'test')
  log.info = (...line: unknown[]) => void lines.push(line)
  const recorder = createRequestRecorder({ postgres, log }, { sampledRowsPerMinute: 3 })
  const refused = {
    operation: 'createVideo',
    status: 503,
    errorCode: 'model_overloaded',
    model: 'of-overload',
  }
  for (let count = 0; count < 5; count += 1) recorder.recordOverload(answered(refused))
  recorder.record(answered({ model: 'of-overload' }))
  await recorder.close()
  expect(lines).toEqual([
    [{ requests: [{ operation: 'createVideo', status: 503, count: 5 }] }, 'requests.overloaded'],
  ])
  const { rows } = await postgres.query<Record<string, unknown>>(
    `select operation, count(*) from request_log where model = 'of-overload' group by operation order by operation`,
  )
  expect(rows).toEqual([
    { operation: 'createVideo', count: 3 },
    { operation: 'listModels', count: 1 },
  ])
})

describe('while the database is unreachable', () => {
  test('requests are buffered up to a limit, others are dropped and counted, and none is written twice', async () => {
    await using proxy = await startProxy(gateway.database.url)
    const postgres = connectPostgres(
      { url: proxy.url, connectionsMax: 1 },
      createLog({ level: 'silent' }, 'test'),
    )
    const lines: unknown[] = []
    const log = createLog({ level: 'silent' }, 'test')
    log.warn = (line: unknown) => void lines.push(line)
    const recorder = createRequestRecorder({ postgres, log }, { bufferedMax: 30, flushEveryMs: 60_000 })
    await proxy.cut()
    for (let count = 0; count < 50; count += 1) recorder.record(answered({ model: 'of-the-outage' }))
    await recorder.flush()
    expect(lines).toEqual([{ err: expect.any(Error) }, { dropped: 20 }])
    await proxy.mend()
    await recorder.close()
    const { rows } = await gateway.database.postgres.query<{ count: number }>(
      "select count(*) from request_log where model = 'of-the-outage'",
    )
    expect(rows).toEqual([{ count: 30 }])
    await postgres.close()
  })
})

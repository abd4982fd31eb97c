/** Rate limits of keys and addresses. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { ask, askJson, expectProblem, randomAddress, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
})
afterAll(() => gateway[Symbol.asyncDispose]())

type Traits = Parameters<typeof createKey>[2]
const keyWith = (traits: Traits): Promise<TestKey> => createKey(gateway.database.postgres, accountId, traits)
const read = ({ text }: TestKey, url = gateway.url, headers = {}): Promise<Answer> =>
  ask(`${url}/v1/models`, text, { headers })
const create = ({ text }: TestKey, url = gateway.url): Promise<Answer> =>
  askJson(`${url}/v1/videos`, text, { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' })
const remainingOf = ({ headers }: Answer) => Number(headers.get('x-ratelimit-remaining'))

/** Waits until a gateway is connected to Redis; until then it counts in memory. */
const untilShared = async (urls: string[]) => {
  const isShared = async () => {
    // Of so low a limit a process takes one point at a time.
    const probe = await keyWith({ limits: { read: 100 } })
    const counts: number[] = []
    for (const url of urls) counts.push(remainingOf(await read(probe, url)))
    return counts.every((count, index) => index === 0 || count === (counts[index - 1] ?? 0) - 1)
  }
  await expect.poll(isShared).toBe(true)
}

test('creates and reads are counted separately, so polling never starves creates', async () => {
  const key = await keyWith({ limits: { create: 1, read: 2 } })
  expect((await read(key)).status).toBe(200)
  expect((await read(key)).status).toBe(200)
  expectProblem(await read(key), 'rate_limit_exceeded')
  expect((await create(key)).status).toBe(200)
  expectProblem(await create(key), 'rate_limit_exceeded')
})

test("a key's requests per minute are counted over everything it does", async () => {
  const key = await keyWith({ requestsPerMinute: 3 })
  expect((await create(key)).status).toBe(200)
  expect((await read(key)).status).toBe(200)
  expect((await create(key)).status).toBe(200)
  expectProblem(await read(key), 'rate_limit_exceeded')
  expectProblem(await create(key), 'rate_limit_exceeded')
})

test('every response to a key has the headers of its tightest limit', async () => {
  const key = await keyWith({ requestsPerMinute: 5, limits: { create: 2, read: 100 } })
  const created = await create(key)
  expect(created.headers.get('x-ratelimit-limit')).toBe('2')
  expect(created.headers.get('x-ratelimit-remaining')).toBe('1')
  expect(created.headers.get('ratelimit-policy')).toBe('"key";q=5;w=60, "create";q=2;w=60')
  expect(created.headers.get('ratelimit')).toMatch(/^"key";r=4;t=\d+, "create";r=1;t=\d+$/)
  const answer = await read(key)
  expect(answer.headers.get('x-ratelimit-limit')).toBe('5')
  expect(answer.headers.get('x-ratelimit-remaining')).toBe('3')
  expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000)
  const missing = await ask(`${gateway.url}/v1/videos/nonsense`, key.text)
  expectProblem(missing, 'task_not_found')
  expect(missing.headers.get('x-ratelimit-remaining')).toBe('2')
  expect(missing.headers.get('ratelimit')).toMatch(/^"key";r=2;t=\d+, "read";r=98;t=\d+$/)
})

test('keys are counted separately', async () => {
  const [one, other] = await Promise.all([keyWith({ limits: { read: 1 } }), keyWith({ limits: { read: 1 } })])
  expect((await read(one)).status).toBe(200)
  expectProblem(await read(one), 'rate_limit_exceeded')
  expect((await read(other)).status).toBe(200)
})

test("the instance's limits apply to a key without its own", async () => {
  await using strict = await startGateway(
    { LIMIT_CREATES_PER_MINUTE: '1', LIMIT_READS_PER_MINUTE: '2' },
    gateway,
  )
  const key = await keyWith({ limits: {} })
  expect((await create(key, strict.url)).status).toBe(200)
  expectProblem(await create(key, strict.url), 'rate_limit_exceeded')
  expect((await read(key, strict.url)).headers.get('x-ratelimit-limit')).toBe('2')
  expect((await read(key, strict.url)).status).toBe(200)
  expectProblem(await read(key, strict.url), 'rate_limit_exceeded')
})

test('the limit is exact for concurrent requests', async () => {
  await untilShared([gateway.url])
  const key = await keyWith({ limits: { read: 10 } })
  const answers = await Promise.all(Array.from({ length: 30 }, () => read(key)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
})

test('two gateways count together through Redis', async () => {
  await using second = await startGateway({}, gateway)
  await untilShared([gateway.url, second.url])
  const key = await keyWith({ limits: { read: 4 } })
  for (const url of [gateway.url, second.url, gateway.url, second.url])
    expect((await read(key, url)).status).toBe(200)
  expectProblem(await read(key, gateway.url), 'rate_limit_exceeded')
  expectProblem(await read(key, second.url), 'rate_limit_exceeded')
})

describe('per address', () => {
  test('requests of all keys from one address count together, and only those', async () => {
    await using bounded = await startGateway(
      { LIMIT_ADDRESS_PER_3_MINUTES: '3', TRUSTED_PROXIES: '127.0.0.1' },
      gateway,
    )
    const [here, there] = [randomAddress(), randomAddress()]
    const [one, other] = await Promise.all([keyWith({}), keyWith({})])
    const readFrom = (address: string, key: TestKey) => read(key, bounded.url, { 'x-forwarded-for': address })
    for (const key of [one, other, one]) expect((await readFrom(here, key)).status).toBe(200)
    const refused = await readFrom(here, other)
    expectProblem(refused, 'rate_limit_exceeded')
    expect(refused.body['error']).toHaveProperty(
      'message',
      expect.stringMatching(
        /^Rate limit reached: 3 requests per 3 minutes for this address\. Try again in \d+ s\.$/,
      ),
    )
    expect(refused.headers.get('x-ratelimit-limit')).toBe('3')
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(180)
    expect((await readFrom(there, other)).status).toBe(200)
  })

  const proxied = { TRUSTED_PROXIES: '127.0.0.1' }

  test.each([
    ['a path that is not there', 'GET', '/v1/nothing', 404],
    ['a method that is not allowed', 'PUT', '/v1/models', 405],
    ['a preflight', 'OPTIONS', '/v1/models', 204],
    ['a link to media', 'GET', '/media/nothing/video.mp4', 404],
    ['the page of a character', 'GET', '/characters/nobody', 404],
    ['the description of the API', 'GET', '/openapi.json', 200],
    ['a request without a key', 'POST', '/v1/videos', 401],
  ])('%s counts once', async (_, method, path, status) => {
    await using bounded = await startGateway({ LIMIT_ADDRESS_PER_3_MINUTES: '2', ...proxied }, gateway)
    const headers = { 'x-forwarded-for': randomAddress() }
    const call = () => fetch(`${bounded.url}${path}`, { method, headers })
    const answers = [await call(), await call(), await call()]
    expect(answers.map((answer) => answer.status)).toEqual([status, status, 429])
    expect(answers.map((answer) => answer.headers.get('x-ratelimit-remaining'))).toEqual(['1', '0', '0'])
    expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('a path that cannot be decoded counts, by the address of its connection', async () => {
    await using alone = await startGateway({ LIMIT_ADDRESS_PER_3_MINUTES: '2', REDIS_URL: '' }, gateway)
    const call = async () => (await fetch(`${alone.url}/v1/videos/%zz`)).status
    expect([await call(), await call(), await call()]).toEqual([404, 404, 429])
  })

  test.each(['/livez', '/readyz', '/healthz'])(
    '%s is counted apart from other requests, with four times their limit',
    async (path) => {
      await using bounded = await startGateway({ LIMIT_ADDRESS_PER_3_MINUTES: '1', ...proxied }, gateway)
      const headers = { 'x-forwarded-for': randomAddress() }
      const statuses: number[] = []
      for (const asked of [path, '/v1/nothing', '/v1/nothing', path, path, path, path])
        statuses.push((await fetch(`${bounded.url}${asked}`, { headers })).status)
      expect(statuses).toEqual([200, 404, 429, 200, 200, 200, 429])
      // Another address, the proxy itself, and this machine.
      for (const from of [{ 'x-forwarded-for': randomAddress() }, {}]) {
        for (let count = 0; count < (Object.keys(from).length === 0 ? 9 : 4); count += 1)
          expect((await fetch(`${bounded.url}${path}`, { headers: from })).status).toBe(200)
      }
      await using direct = await startGateway({ LIMIT_ADDRESS_PER_3_MINUTES: '1' }, gateway)
      for (let count = 0; count < 9; count += 1)
        expect((await fetch(`${direct.url}${path}`)).status).toBe(200)
    },
  )

  test('operators are not refused when customers have used up the limit of their address', async () => {
    await using bounded = await startGateway({ LIMIT_ADDRESS_PER_3_MINUTES: '1', ...proxied }, gateway)
    const headers = { 'x-forwarded-for': randomAddress() }
    const operator = await keyWith({ kind: 'admin' })
    const customer = await keyWith({})
    expect((await read(customer, bounded.url, headers)).status).toBe(200)
    expectProblem(await read(customer, bounded.url, headers), 'rate_limit_exceeded')
    const list = () => ask(`${bounded.url}/admin/v1/keys`, operator.text, { headers })
    expect((await list()).status).toBe(200)
    expectProblem(await list(), 'rate_limit_exceeded')
  })

  test('an address above its limit causes no requests to Redis', async () => {
    await using redis = await startProxy(inject('redisUrl'))
    const limits = { LIMIT_ADDRESS_PER_3_MINUTES: '2', ...proxied }
    await using bounded = await startGateway({ ...limits, REDIS_URL: redis.url }, gateway)
    await using other = await startGateway(limits, gateway)
    const callFrom = (address: string, { url }: TestGateway) =>
      fetch(`${url}/v1/nothing`, { headers: { 'x-forwarded-for': address } })
    const isShared = async () => {
      const address = randomAddress()
      await callFrom(address, bounded)
      return (await callFrom(address, other)).headers.get('x-ratelimit-remaining') === '0'
    }
    await expect.poll(isShared).toBe(true)
    const address = randomAddress()
    const call = () => callFrom(address, bounded)
    expect([(await call()).status, (await call()).status, (await call()).status]).toEqual([404, 404, 429])
    const before = redis.sentBytes()
    for (let count = 0; count < 20; count += 1) expect((await call()).status).toBe(429)
    expect(redis.sentBytes()).toBe(before)
  })

  test('addresses are not limited without admission control', async () => {
    const limits = { LIMIT_ADDRESS_PER_3_MINUTES: '1', ADMISSION_CONTROL: 'false' }
    await using unbounded = await startGateway(limits, gateway)
    for (let count = 0; count < 3; count += 1)
      expect((await fetch(`${unbounded.url}/v1/nothing`)).status).toBe(404)
  })
})

describe('without Redis', () => {
  test('a gateway whose Redis is unreachable still serves requests, and counts in memory', async () => {
    await using alone = await startGateway({ REDIS_URL: 'redis://127.0.0.1:1' }, gateway)
    const key = await keyWith({ limits: { create: 1, read: 2 } })
    expect((await read(key, alone.url)).headers.get('x-ratelimit-remaining')).toBe('1')
    expect((await read(key, alone.url)).status).toBe(200)
    expectProblem(await read(key, alone.url), 'rate_limit_exceeded')
    expect((await create(key, alone.url)).status).toBe(200)
    expectProblem(await create(key, alone.url), 'rate_limit_exceeded')
  })

  test('only one gateway may run on a database, and the next may start when it has ended', async () => {
    const environment = { REDIS_URL: '' }
    {
      await using alone = await startGateway(environment, gateway)
      const key = await keyWith({ limits: { read: 1 } })
      expect((await read(key, alone.url)).status).toBe(200)
      expectProblem(await read(key, alone.url), 'rate_limit_exceeded')
      await expect(startGateway(environment, gateway)).rejects.toThrow(
        /Another API process runs on this database/,
      )
      expect((await read(await keyWith({}), alone.url)).status).toBe(200)
    }
    await using next = await startGateway(environment, gateway)
    expect((await read(await keyWith({}), next.url)).status).toBe(200)
  })
})

test('an address that keeps guessing keys is refused for a while', async () => {
  await using gateway = await startGateway({ LIMIT_ADDRESS_PER_3_MINUTES: '3', TRUSTED_PROXIES: '127.0.0.1' })
  const address = randomAddress()
  const statuses = []
  for (let index = 0; index < 4; index += 1) {
    const answer = await ask(`${gateway.url}/v1/models`, 'sk-guess', {
      headers: { 'x-forwarded-for': address },
    })
    statuses.push(answer.status)
  }
  expect(statuses).toEqual([401, 401, 401, 429])
})

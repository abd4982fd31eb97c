/**
 * A Redis that keeps its connections open and does not respond. A request that is answered before Redis resumes did not
 * wait for it, however slow the machine is.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { redisPubsub } from '../../src/platform/pubsub.ts'
import { connectRedis } from '../../src/platform/redis.ts'
import { ask, askJson, expectProblem, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startRedisServer, type RedisServer } from '../kit/redis-server.ts'
import { startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let redis: RedisServer
let accountId: string

beforeAll(async () => {
  gateway = await startGateway()
  redis = await startRedisServer()
  accountId = await createAccount(gateway.database.postgres)
})
afterAll(async () => {
  redis.resume()
  await redis[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

const read = ({ text }: TestKey, url: string): Promise<Answer> => ask(`${url}/v1/models`, text)
const remainingOf = ({ headers }: Answer) => Number(headers.get('x-ratelimit-remaining'))
const keyWith = (limit: number) =>
  createKey(gateway.database.postgres, accountId, { limits: { read: limit, create: limit } })

/** Waits until both gateways count in the same Redis. */
const untilShared = async (urls: [string, string]) => {
  const isShared = async () => {
    // Of so low a limit a process takes one point at a time.
    const probe = await keyWith(100)
    return remainingOf(await read(probe, urls[0])) - remainingOf(await read(probe, urls[1])) === 1
  }
  await expect.poll(isShared).toBe(true)
}

test('requests are answered and counted in memory while Redis is suspended, and in Redis afterwards', async () => {
  const environment = { REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '300' }
  await using one = await startGateway(environment, gateway)
  await using other = await startGateway(environment, gateway)
  await untilShared([one.url, other.url])
  const key = await keyWith(30)
  redis.suspend()
  const answers = await Promise.all(Array.from({ length: 20 }, () => read(key, one.url)))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  for (let count = 0; count < 10; count += 1) expect((await read(key, one.url)).status).toBe(200)
  expectProblem(await read(key, one.url), 'rate_limit_exceeded')
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  expect((await askJson(`${one.url}/v1/videos`, key.text, order)).status).toBe(200)
  redis.resume()
  await untilShared([one.url, other.url])
})

test('a Redis that does not respond delays one request, not every request', async () => {
  await using proxy = await startProxy(redis.url)
  await using behind = await startGateway({ REDIS_URL: proxy.url, REDIS_TIMEOUT_MS: '2000' }, gateway)
  await using direct = await startGateway({ REDIS_URL: redis.url }, gateway)
  await untilShared([behind.url, direct.url])
  const key = await keyWith(1_000)
  const timeRead = async () => {
    const startedMs = performance.now()
    expect((await read(key, behind.url)).status).toBe(200)
    return performance.now() - startedMs
  }
  proxy.stall()
  const firstMs = await timeRead()
  const tookMs: number[] = []
  while (tookMs.length < 20) tookMs.push(await timeRead())
  // A busy machine delays some of them as well.
  expect(tookMs.filter((ms) => ms < firstMs).length).toBeGreaterThan(10)
  proxy.resume()
  await untilShared([behind.url, direct.url])
})

test('notifications arrive again after Redis was suspended, also on a connection that was made meanwhile', async () => {
  const log = createLog({ level: 'silent' }, 'test')
  const connection = connectRedis({ url: redis.url, timeoutMs: 300 }, log)
  const pubsub = redisPubsub(connection, log, `test-${process.pid}`)
  const heard: string[][] = [[], []]
  const first = await pubsub.subscribe((ids) => heard[0]?.push(...ids))
  const isHeard = (id: string, at: number) =>
    expect
      .poll(() => {
        pubsub.publish([id])
        return heard[at]?.includes(id)
      })
      .toBe(true)
  await isHeard('before', 0)
  redis.suspend()
  pubsub.publish(['lost'])
  const second = await pubsub.subscribe((ids) => heard[1]?.push(...ids))
  redis.resume()
  await isHeard('after', 0)
  await isHeard('after', 1)
  await first.stop()
  await second.stop()
  connection.disconnect()
})

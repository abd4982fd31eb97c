/** Points of a limit that several processes take from one Redis. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startRedisServer, type RedisServer } from '../../test/kit/redis-server.ts'
import { createLog } from '../platform/log.ts'
import { connectRedis, type Redis } from '../platform/redis.ts'
import { createLeasedPoints, type Counter } from './leased-points.ts'

let server: RedisServer
const connections: Redis[] = []

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(async () => {
  for (const connection of connections) connection.disconnect()
  await server[Symbol.asyncDispose]()
})

/** Each has a connection of its own, like a process. */
const startProcess = async () => {
  const connection = connectRedis({ url: server.url, timeoutMs: 0 }, createLog({ level: 'silent' }, 'test'))
  connections.push(connection)
  await expect.poll(() => connection.status).toBe('ready')
  return createLeasedPoints(connection)
}
const counterOf = (points: number, durationMs = 60_000): Counter => ({ id: randomUUID(), points, durationMs })
const takesSoFar = async () => {
  const [connection] = connections
  const stats = (await connection?.info('commandstats')) ?? ''
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

test('a low limit is exact for concurrent requests of two processes', async () => {
  const [one, other] = [await startProcess(), await startProcess()]
  const counter = counterOf(10)
  const taken = await Promise.all(Array.from({ length: 20 }, () => [one(counter), other(counter)]).flat())
  expect(taken.filter(({ isAllowed }) => isAllowed)).toHaveLength(10)
})

test('a high limit costs few round trips, is never exceeded, and little of it is held back', async () => {
  const processes = [await startProcess(), await startProcess()] as const
  // A quarter of a second is worth 20 points.
  const counter = counterOf(4_800)
  const before = await takesSoFar()
  let allowed = 0
  const takeAll = async (take: (typeof processes)[0], times: number) => {
    for (let count = 0; count < times; count += 1) if ((await take(counter)).isAllowed) allowed += 1
  }
  await Promise.all(processes.map((take) => takeAll(take, 1_000)))
  expect(allowed).toBe(2_000)
  expect((await takesSoFar()) - before).toBeLessThanOrEqual(2_000 / 20 + 2)
  await takeAll(processes[0], 5_000)
  expect(allowed).toBeLessThanOrEqual(4_800)
  expect(allowed).toBeGreaterThan(4_800 - 20)
  await takeAll(processes[1], 5_000)
  expect(allowed).toBe(4_800)
})

test('what is left goes down by one with each request, and a flood beyond the limit stays in the process', async () => {
  const take = await startProcess()
  const counter = counterOf(720)
  const remaining: number[] = []
  for (let count = 0; count < 720; count += 1) remaining.push((await take(counter)).remaining)
  expect(remaining).toEqual(Array.from({ length: 720 }, (_, index) => 719 - index))
  const before = await takesSoFar()
  for (let count = 0; count < 100; count += 1) {
    expect(await take(counter)).toMatchObject({ isAllowed: false, remaining: 0 })
  }
  expect(await takesSoFar()).toBe(before)
})

test('points are granted again after their period, and those of the last period are void', async () => {
  const take = await startProcess()
  const periodMs = 1_000
  /** Leaves one of two points unused at the end of a period; returns how many the next one has, and how long it took to take them. */
  const takeNextPeriod = async () => {
    const counter = counterOf(8, periodMs)
    const first = await take(counter)
    expect(first.isAllowed).toBe(true)
    const startedMs = performance.now()
    // Redis counts whole milliseconds, so its period ends up to one later.
    const periodEndsInMs = first.resetsInMs + 2
    await expect.poll(() => performance.now() - startedMs, { interval: 10 }).toBeGreaterThan(periodEndsInMs)
    const nextMs = performance.now()
    let allowed = 0
    while ((await take(counter)).isAllowed) allowed += 1
    return { allowed, isInTime: performance.now() - nextMs < periodMs }
  }
  // If the machine stops meanwhile, the points of yet another period are taken.
  let taken = await takeNextPeriod()
  while (!taken.isInTime) taken = await takeNextPeriod()
  expect(taken.allowed).toBe(8)
})

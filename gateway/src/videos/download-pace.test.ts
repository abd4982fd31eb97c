import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { createDownloadPace, type DownloadPace } from './download-pace.ts'

const chunk = 1_000
const never = new AbortController().signal
const ofA = { provider: 'a', startedMs: 0 }
const ofB = { provider: 'b', startedMs: 0 }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => vi.useRealTimers())

/** Downloads for so many seconds, and returns the bytes of each provider. */
const downloadFor = async (seconds: number, pace: DownloadPace, downloads: Record<string, number>) => {
  const received: Record<string, number> = {}
  const stop = new AbortController()
  const running = Object.entries(downloads).flatMap(([provider, count]) =>
    Array.from({ length: count }, async (_, startedMs) => {
      while (!stop.signal.aborted) {
        await pace({ provider, startedMs }, chunk, stop.signal).catch(() => undefined)
        if (!stop.signal.aborted) received[provider] = (received[provider] ?? 0) + chunk
      }
    }),
  )
  await vi.advanceTimersByTimeAsync(seconds * 1_000)
  stop.abort(new Error('over'))
  await Promise.all(running)
  return received
}

test('all downloads together keep the limit', async () => {
  const pace = createDownloadPace({ total: 100_000, perProvider: 0 })
  const { a = 0 } = await downloadFor(10, pace, { a: 20 })
  expect(a).toBeGreaterThan(980_000)
  expect(a).toBeLessThan(1_020_000)
})

test('a provider with many downloads gets no more than one with a single download', async () => {
  const pace = createDownloadPace({ total: 100_000, perProvider: 0 })
  const { many = 0, few = 0 } = await downloadFor(10, pace, { many: 30, few: 1 })
  expect(many / few).toBeGreaterThan(0.9)
  expect(many / few).toBeLessThan(1.1)
})

test('what a provider does not use is left to others, and each provider keeps its own limit', async () => {
  const pace = createDownloadPace({ total: 100_000, perProvider: 40_000 })
  const { a = 0, b = 0 } = await downloadFor(10, pace, { a: 9, b: 2 })
  for (const bytes of [a, b]) {
    expect(bytes).toBeGreaterThan(390_000)
    expect(bytes).toBeLessThan(410_000)
  }
  const one = createDownloadPace({ total: 100_000, perProvider: 0 })
  expect((await downloadFor(10, one, { a: 1 }))['a']).toBeGreaterThan(980_000)
})

test('the downloads of a provider end one after the other, in the order in which they started', async () => {
  const pace = createDownloadPace({ total: 0, perProvider: 10_000 })
  const ended: [number, number][] = []
  const begin = performance.now()
  const downloads = [2, 0, 1].map(async (startedMs) => {
    for (let index = 0; index < 10; index += 1) await pace({ provider: 'a', startedMs }, chunk, never)
    ended.push([startedMs, Math.round((performance.now() - begin) / 1_000)])
  })
  await vi.advanceTimersByTimeAsync(3_000)
  await Promise.all(downloads)
  expect(ended).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ])
})

test('a download that is aborted while it waits leaves its turn to others', async () => {
  const pace = createDownloadPace({ total: 1_000, perProvider: 0 })
  await pace(ofA, 60_000, never)
  const stop = new AbortController()
  const aborted = pace(ofA, chunk, stop.signal)
  const other = pace(ofB, chunk, never)
  stop.abort(new Error('superseded'))
  await expect(aborted).rejects.toThrow('superseded')
  await vi.advanceTimersByTimeAsync(61_000)
  await other
})

test('without limits nobody waits', async () => {
  const pace = createDownloadPace({ total: 0, perProvider: 0 })
  for (let index = 0; index < 1_000; index += 1) await pace(ofA, 1_000_000_000, never)
})

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { createDownloadPermits, type DownloadPermit, type DownloadPermits } from './download-permits.ts'

const first = { provider: 'first', isRetry: false }
const second = { provider: 'second', isRetry: false }
const third = { provider: 'third', isRetry: false }
const fourth = { provider: 'fourth', isRetry: false }
const retry = { provider: 'first', isRetry: true }

const acquireAll = (permits: DownloadPermits, request: typeof first) => {
  const acquired: DownloadPermit[] = []
  for (let next = permits.tryAcquire(request); next !== undefined; next = permits.tryAcquire(request))
    acquired.push(next)
  return acquired
}

const releaseAll = (acquired: DownloadPermit[], hasSucceeded = true) => {
  for (const permit of acquired) permit.release(hasSucceeded)
}

test('permits are limited per provider and in total, and returned ones are granted again', () => {
  const permits = createDownloadPermits({ total: 5, perProvider: 3 })
  const ofFirst = acquireAll(permits, first)
  const ofSecond = acquireAll(permits, second)
  expect([ofFirst.length, ofSecond.length, acquireAll(permits, third).length]).toEqual([3, 2, 0])
  releaseAll(ofFirst)
  const ofThird = acquireAll(permits, third)
  expect(ofThird).toHaveLength(2)
  releaseAll([...ofSecond, ...ofThird])
  for (const request of [first, second]) {
    const again = acquireAll(permits, request)
    expect(again).toHaveLength(3)
    releaseAll(again)
  }
})

test('providers that use all they may leave permits to others', () => {
  const permits = createDownloadPermits({ total: 48, perProvider: 32 })
  const counts = Array.from(
    { length: 8 },
    (_, index) => acquireAll(permits, { provider: `provider-${index}`, isRetry: false }).length,
  )
  expect(counts[0]).toBe(32)
  // Those that come later have less, because the first ones keep theirs until they end.
  for (const count of counts.slice(0, 4)) expect(count).toBeGreaterThan(0)
})

test('failed downloads take no permit from a provider, whatever their number', () => {
  const permits = createDownloadPermits({ total: 5, perProvider: 3 })
  for (let round = 0; round < 10; round += 1) releaseAll(acquireAll(permits, first), false)
  expect(acquireAll(permits, first)).toHaveLength(3)
})

test('retries leave half of the permits to new results', () => {
  const permits = createDownloadPermits({ total: 48, perProvider: 32 })
  expect(acquireAll(permits, retry)).toHaveLength(16)
  expect(permits.mayStart(retry)).toBe(true)
  expect(acquireAll(permits, first)).toHaveLength(16)
})

describe('a slow download', () => {
  const limits = { total: 48, perProvider: 16 }

  test('returns its permit, unless too many are slow already; nobody waits, so those continue', () => {
    const permits = createDownloadPermits(limits)
    const slow = Array.from({ length: 10 }, () => permits.tryAcquire(first))
    for (const permit of slow) expect(permit?.mayStaySlow()).toBe(true)
    // An eighth of the permits is for slow downloads, besides the others.
    expect(acquireAll(permits, first)).toHaveLength(16 - 10 + 2)
    for (const permit of slow) permit?.release(false)
    expect(acquireAll(permits, first)).toHaveLength(10 - 2)
  })

  test('that has no place among the slow ones is given up while others need its permit, and only then', () => {
    let nowMs = 0
    const permits = createDownloadPermits(limits, () => nowMs)
    const slow = acquireAll(permits, first)
    expect(permits.tryAcquire(first)).toBeUndefined()
    expect(slow.filter((permit) => permit.mayStaySlow())).toHaveLength(2)
    nowMs += 6_000
    expect(slow.filter((permit) => permit.mayStaySlow())).toHaveLength(16)
    expect(permits.mayStart(second)).toBe(true)
    expect(slow.filter((permit) => permit.mayStaySlow())).toHaveLength(16)
  })

  test('of any provider is given up if the total is used up', () => {
    const permits = createDownloadPermits({ total: 8, perProvider: 4 })
    const slow = acquireAll(permits, first)
    const others = [second, third, fourth].flatMap((request) => acquireAll(permits, request))
    expect(others).toHaveLength(4)
    expect(permits.tryAcquire({ provider: 'fifth', isRetry: false })).toBeUndefined()
    expect(slow.map((permit) => permit.mayStaySlow())).toEqual([true, false, false, false])
  })

  test('counts in the total, because it occupies a slot of the engine', () => {
    const permits = createDownloadPermits({ total: 4, perProvider: 4 })
    const slow = permits.tryAcquire(first)
    slow?.mayStaySlow()
    const others = [first, second, third].flatMap((request) => acquireAll(permits, request))
    expect(others).toHaveLength(3)
    slow?.release(true)
    expect(acquireAll(permits, fourth)).toHaveLength(1)
  })
})

test('callers without a permit come back at the pace at which permits become free', () => {
  let nowMs = 0
  const permits = createDownloadPermits({ total: 5, perProvider: 2 }, () => nowMs)
  // Downloads take a second, so that one of the two permits becomes free every half second.
  for (let count = 0; count < 50; count += 1) {
    const permit = permits.tryAcquire(first)
    nowMs += 1_000
    permit?.release(true)
  }
  const waits = Array.from({ length: 100 }, () => permits.nextTryMs(first))
  for (const [index, waitMs] of waits.slice(0, 20).entries()) expect(waitMs / 500).toBeCloseTo(index + 1, 1)
  expect(Math.max(...waits)).toBe(15_000)
  expect(permits.nextTryMs(second)).toBeLessThan(500)
  // What was assumed before does not delay a caller later.
  nowMs += 60_000
  expect(permits.nextTryMs(first) / 500).toBeCloseTo(1, 1)
})

test('as many runs may be started as will soon get a permit', async () => {
  let nowMs = 0
  const permits = createDownloadPermits({ total: 12, perProvider: 3 }, () => nowMs)
  const startAll = (request: typeof first) => {
    let count = 0
    while (permits.mayStart(request)) count += 1
    return count
  }
  // Downloads are assumed to take 200 ms, so that three more permits are free within a quarter of a second.
  const started = startAll(first)
  expect(started).toBe(6)
  expect(startAll(second)).toBe(6)
  expect(startAll(third)).toBe(0)
  // Those that ask for a permit are expected no longer; they count as downloads.
  const acquired = await Promise.all(Array.from({ length: 3 }, () => permits.acquire(first)))
  expect(startAll(first)).toBe(0)
  acquired[0]?.release(true)
  expect(startAll(first)).toBe(1)
  // Neither are those that have asked another worker.
  nowMs += 1_000
  for (const permit of acquired.slice(1)) permit?.release(false)
  expect(startAll(first)).toBeGreaterThan(2)
  expect(startAll(second)).toBeGreaterThan(2)
})

test('callers come back later, the longer the current downloads take', () => {
  let nowMs = 0
  const permits = createDownloadPermits({ total: 5, perProvider: 2 }, () => nowMs)
  const active = acquireAll(permits, first)
  nowMs += 10_000
  // A permit every five seconds is the best that can be expected of two downloads that have taken ten.
  const waits = Array.from({ length: 3 }, () => permits.nextTryMs(first))
  expect(waits).toEqual([5_000, 10_000, 15_000])
  releaseAll(active, false)
  nowMs += 60_000
  expect(permits.nextTryMs(first)).toBeLessThan(1_000)
})

describe('a caller without a permit', () => {
  // Nobody waits in vain: without time, only a caller that does not wait gets an answer.
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('waits for one that will soon be free, in the order of arrival', async () => {
    const permits = createDownloadPermits({ total: 8, perProvider: 1 }, () => 0)
    // Downloads turn out to be quick.
    for (let count = 0; count < 20; count += 1) permits.tryAcquire(first)?.release(true)
    const active = permits.tryAcquire(first)
    const granted: string[] = []
    const wait = async (name: string) => {
      const permit = await permits.acquire(first)
      granted.push(name)
      return permit
    }
    const one = wait('one')
    const other = wait('other')
    expect(permits.tryAcquire(first)).toBeUndefined()
    active?.release(true)
    ;(await one)?.release(true)
    ;(await other)?.release(true)
    expect(granted).toEqual(['one', 'other'])
    expect(permits.tryAcquire(first)).toBeDefined()
  })

  test('does not wait if the downloads take long', async () => {
    let nowMs = 0
    const permits = createDownloadPermits({ total: 8, perProvider: 1 }, () => nowMs)
    permits.tryAcquire(first)
    nowMs += 1_000
    expect(await permits.acquire(first)).toBeUndefined()
  })

  test('counts like a download while it waits', async () => {
    const permits = createDownloadPermits({ total: 5, perProvider: 1 }, () => 0)
    const active = [first, second, third].map((request) => permits.tryAcquire(request))
    const waiting = [first, second].map((request) => permits.acquire(request))
    expect(await permits.acquire(third)).toBeUndefined()
    expect(permits.tryAcquire(fourth)).toBeUndefined()
    for (const permit of active) permit?.release(true)
    const granted = await Promise.all(waiting)
    expect(granted).not.toContain(undefined)
    // Two are active again, and three are left.
    expect(acquireAll(permits, third)).toHaveLength(1)
    for (const permit of granted) permit?.release(true)
    expect(permits.tryAcquire(first)).toBeDefined()
  })

  test('gives up after a moment, and takes no permit later', async () => {
    const permits = createDownloadPermits({ total: 8, perProvider: 1 }, () => 0)
    const active = permits.tryAcquire(first)
    const waiting = permits.acquire(first)
    await vi.advanceTimersByTimeAsync(250)
    expect(await waiting).toBeUndefined()
    active?.release(false)
    expect(permits.tryAcquire(first)).toBeDefined()
  })
})

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { createDownloadPermits, type DownloadResult } from './download-permits.ts'

const acquireAll = (permits: ReturnType<typeof createDownloadPermits>, provider: string) => {
  const acquired: ((result: DownloadResult) => void)[] = []
  for (let next = permits.tryAcquire(provider); next !== undefined; next = permits.tryAcquire(provider))
    acquired.push(next)
  return acquired
}

test('permits are limited per provider and in total, and returned ones are granted again', () => {
  const permits = createDownloadPermits({ total: 5, perProvider: 3 })
  const first = acquireAll(permits, 'first')
  const second = acquireAll(permits, 'second')
  expect([first.length, second.length, acquireAll(permits, 'third').length]).toEqual([3, 2, 0])
  for (const release of first) release('undecided')
  const third = acquireAll(permits, 'third')
  expect(third).toHaveLength(3)
  for (const release of [...second, ...third]) release('succeeded')
  for (const provider of ['first', 'second']) {
    const again = acquireAll(permits, provider)
    expect(again).toHaveLength(3)
    for (const release of again) release('succeeded')
  }
})

test('a provider has one permit at a time from a failed download until one succeeds', () => {
  const permits = createDownloadPermits({ total: 5, perProvider: 3 })
  for (const release of acquireAll(permits, 'first')) release('failed')
  const probe = acquireAll(permits, 'first')
  expect(probe).toHaveLength(1)
  expect(acquireAll(permits, 'second')).toHaveLength(3)
  probe[0]?.('undecided')
  permits.tryAcquire('first')?.('succeeded')
  expect(acquireAll(permits, 'first')).toHaveLength(2)
})

test('callers without a permit come back at the pace at which permits become free', () => {
  let nowMs = 0
  const permits = createDownloadPermits({ total: 5, perProvider: 2 }, () => nowMs)
  // Downloads take a second, so that one of the two permits becomes free every half second.
  for (let count = 0; count < 50; count += 1) {
    const release = permits.tryAcquire('first')
    nowMs += 1_000
    release?.('succeeded')
  }
  const waits = Array.from({ length: 100 }, () => permits.nextTryMs('first'))
  for (const [index, waitMs] of waits.slice(0, 20).entries()) expect(waitMs / 500).toBeCloseTo(index + 1, 1)
  expect(Math.max(...waits)).toBe(15_000)
  expect(permits.nextTryMs('second')).toBeLessThan(500)
  // What was assumed before does not delay a caller later.
  nowMs += 60_000
  expect(permits.nextTryMs('first') / 500).toBeCloseTo(1, 1)
})

test('as many runs may be started as will soon get a permit', async () => {
  let nowMs = 0
  const permits = createDownloadPermits({ total: 12, perProvider: 3 }, () => nowMs)
  const startAll = (provider: string) => {
    let count = 0
    while (permits.mayStart(provider)) count += 1
    return count
  }
  // Downloads are assumed to take 200 ms, so that three more permits are free within a quarter of a second.
  const started = startAll('first')
  expect(started).toBe(6)
  expect(startAll('second')).toBe(6)
  expect(startAll('third')).toBe(0)
  // Those that ask for a permit are expected no longer; they count as downloads.
  const releases = await Promise.all(Array.from({ length: 3 }, () => permits.acquire('first')))
  expect(startAll('first')).toBe(0)
  releases[0]?.('succeeded')
  expect(startAll('first')).toBe(1)
  // Neither are those that have asked another worker.
  nowMs += 1_000
  for (const release of releases.slice(1)) release?.('failed')
  nowMs += 1_000
  expect(startAll('first')).toBe(1)
  expect(startAll('second')).toBeGreaterThan(2)
})

test('callers come back later, the longer the current downloads take', () => {
  let nowMs = 0
  const permits = createDownloadPermits({ total: 5, perProvider: 2 }, () => nowMs)
  const active = acquireAll(permits, 'first')
  nowMs += 10_000
  // A permit every five seconds is the best that can be expected of two downloads that have taken ten.
  const waits = Array.from({ length: 3 }, () => permits.nextTryMs('first'))
  expect(waits).toEqual([5_000, 10_000, 15_000])
  for (const release of active) release('undecided')
  nowMs += 60_000
  expect(permits.nextTryMs('first')).toBeLessThan(1_000)
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
    for (let count = 0; count < 20; count += 1) permits.tryAcquire('first')?.('succeeded')
    const active = permits.tryAcquire('first')
    const granted: string[] = []
    const wait = async (name: string) => {
      const release = await permits.acquire('first')
      granted.push(name)
      return release
    }
    const one = wait('one')
    const other = wait('other')
    expect(permits.tryAcquire('first')).toBeUndefined()
    active?.('succeeded')
    ;(await one)?.('succeeded')
    ;(await other)?.('succeeded')
    expect(granted).toEqual(['one', 'other'])
    expect(permits.tryAcquire('first')).toBeDefined()
  })

  test('does not wait if the downloads take long', async () => {
    let nowMs = 0
    const permits = createDownloadPermits({ total: 8, perProvider: 1 }, () => nowMs)
    permits.tryAcquire('first')
    nowMs += 1_000
    expect(await permits.acquire('first')).toBeUndefined()
  })

  test('counts like a download while it waits', async () => {
    const permits = createDownloadPermits({ total: 5, perProvider: 1 }, () => 0)
    const active = ['first', 'second', 'third'].map((provider) => permits.tryAcquire(provider))
    const waiting = ['first', 'second'].map((provider) => permits.acquire(provider))
    expect(await permits.acquire('third')).toBeUndefined()
    expect(permits.tryAcquire('fourth')).toBeUndefined()
    for (const release of active) release?.('succeeded')
    const granted = await Promise.all(waiting)
    expect(granted).not.toContain(undefined)
    // Two are active again, and three are left.
    expect(acquireAll(permits, 'third')).toHaveLength(1)
    for (const release of granted) release?.('succeeded')
    expect(permits.tryAcquire('first')).toBeDefined()
  })

  test('gives up after a moment, and takes no permit later', async () => {
    const permits = createDownloadPermits({ total: 8, perProvider: 1 }, () => 0)
    const active = permits.tryAcquire('first')
    const waiting = permits.acquire('first')
    await vi.advanceTimersByTimeAsync(250)
    expect(await waiting).toBeUndefined()
    active?.('undecided')
    expect(permits.tryAcquire('first')).toBeDefined()
  })
})

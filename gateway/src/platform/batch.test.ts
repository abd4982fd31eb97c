import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

import { expect, test, vi } from 'vitest'

import { batch, fulfilled, rejected, splitOnLockTimeout } from './batch.ts'

test('concurrent calls share one batch, and each gets its own result', async () => {
  const sizes: number[] = []
  const double = batch(
    async (items: number[]) => {
      sizes.push(items.length)
      return items.map((item) => fulfilled(item * 2))
    },
    { inFlightMax: 1, sizeMax: 100 },
  )
  const results = await Promise.all(Array.from({ length: 50 }, (_, index) => double(index)))
  expect(results).toEqual(Array.from({ length: 50 }, (_, index) => index * 2))
  expect(sizes).toEqual([50])
})

test('calls that nobody waits for gather for a time, whether others arrive or not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const sizes: number[] = []
    const work = batch(
      async (items: number[]) => {
        sizes.push(items.length)
        return items.map((item) => fulfilled(item))
      },
      { inFlightMax: 1, sizeMax: 10, gatherMs: 100 },
    )
    const first = work(1)
    await vi.advanceTimersByTimeAsync(60)
    const second = work(2)
    expect(sizes).toEqual([])
    await vi.advanceTimersByTimeAsync(60)
    expect(await Promise.all([first, second])).toEqual([1, 2])
    const alone = work(3)
    await vi.advanceTimersByTimeAsync(120)
    expect(await alone).toBe(3)
    expect(sizes).toEqual([2, 1])
  } finally {
    vi.useRealTimers()
  }
})

test('the size of batches and the number in flight stay within their limits', async () => {
  let inFlight = 0
  let inFlightMost = 0
  const sizes: number[] = []
  const work = batch(
    async (items: number[]) => {
      inFlight += 1
      inFlightMost = Math.max(inFlightMost, inFlight)
      sizes.push(items.length)
      await yieldToEventLoop()
      inFlight -= 1
      return items.map((item) => fulfilled(item))
    },
    { inFlightMax: 2, sizeMax: 10 },
  )
  await Promise.all(Array.from({ length: 95 }, (_, index) => work(index)))
  expect(inFlightMost).toBe(2)
  expect(Math.max(...sizes)).toBe(10)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(95)
})

test('calls for a record that a batch has locked wait for it, and calls for others until it is slow', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const batches: { items: string[]; end: () => void }[] = []
    const work = batch(
      async (items: string[]) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        batches.push({ items, end: resolve })
        await promise
        return items.map((item) => fulfilled(item))
      },
      { inFlightMax: 4, sizeMax: 10, lockOf: (item) => item.charAt(0) },
    )
    const started = () => batches.map(({ items }) => items)
    const calls = [work('a1')]
    await yieldToEventLoop()
    calls.push(work('a2'), work('b1'))
    await yieldToEventLoop()
    expect(started()).toEqual([['a1']])
    await vi.advanceTimersByTimeAsync(1_000)
    await yieldToEventLoop()
    expect(started()).toEqual([['a1'], ['b1']])
    calls.push(work('b2'), work('c1'))
    batches[0]?.end()
    await vi.advanceTimersByTimeAsync(1_000)
    await yieldToEventLoop()
    expect(started()).toEqual([['a1'], ['b1'], ['a2', 'c1']])
    for (const { end } of batches) end()
    await yieldToEventLoop()
    await yieldToEventLoop()
    expect(started().at(-1)).toEqual(['b2'])
    for (const { end } of batches) end()
    expect(await Promise.all(calls)).toEqual(['a1', 'a2', 'b1', 'b2', 'c1'])
  } finally {
    vi.useRealTimers()
  }
})

test("one item's failure is its own", async () => {
  const work = batch(
    async (items: number[]) =>
      items.map((item) => (item === 2 ? rejected(new Error('two')) : fulfilled(item))),
    { inFlightMax: 1, sizeMax: 10 },
  )
  const settled = await Promise.allSettled([work(1), work(2), work(3)])
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('an error fails its whole batch, and the next batch runs', async () => {
  let isBroken = true
  const work = batch(
    async (items: number[]) => {
      if (isBroken) throw new Error('broken')
      return items.map((item) => fulfilled(item))
    },
    { inFlightMax: 1, sizeMax: 10 },
  )
  await expect(Promise.all([work(1), work(2)])).rejects.toThrow('broken')
  isBroken = false
  await expect(work(3)).resolves.toBe(3)
})

test('a missing result is an error', async () => {
  const work = batch(async () => [], { inFlightMax: 1, sizeMax: 10 })
  await expect(work(1)).rejects.toThrow(/fewer results/)
})

test('a batch that waits too long for a lock is repeated by group, so that only one group fails', async () => {
  const lockTimeout = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
  const batches: string[][] = []
  const work = splitOnLockTimeout(
    async (items: string[]) => {
      batches.push(items)
      if (items.some((item) => item.startsWith('locked'))) throw lockTimeout
      return items.map((item) => fulfilled(item))
    },
    (item) => item.split(' ')[0] ?? '',
  )
  const items = ['free 1', 'locked 1', 'other 1', 'locked 2', 'free 2']
  expect(await work(items)).toEqual([
    fulfilled('free 1'),
    rejected(lockTimeout),
    fulfilled('other 1'),
    rejected(lockTimeout),
    fulfilled('free 2'),
  ])
  expect(batches).toEqual([items, ['free 1', 'free 2'], ['locked 1', 'locked 2'], ['other 1']])
  await expect(work(['locked 1', 'locked 2'])).rejects.toBe(lockTimeout)
})

test('a group that waited in vain fails at once for a while, and the others do not wait for it', async () => {
  const lockTimeout = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
  let isLocked = true
  const batches: string[][] = []
  const work = splitOnLockTimeout(
    async (items: string[]) => {
      batches.push(items)
      if (isLocked && items.includes('locked')) throw lockTimeout
      return items.map((item) => fulfilled(item))
    },
    (item) => item,
    { failsFast: true },
  )
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    await expect(work(['locked'])).rejects.toBe(lockTimeout)
    isLocked = false
    expect(await work(['free', 'locked', 'other'])).toEqual([
      fulfilled('free'),
      rejected(lockTimeout),
      fulfilled('other'),
    ])
    expect(await work(['locked'])).toEqual([rejected(lockTimeout)])
    expect(batches).toEqual([['locked'], ['free', 'other']])
    vi.advanceTimersByTime(3_001)
    expect(await work(['locked', 'free'])).toEqual([fulfilled('locked'), fulfilled('free')])
  } finally {
    vi.useRealTimers()
  }
})

test('a batch that fails for another reason is not repeated', async () => {
  const failure = new Error('failed')
  let count = 0
  const work = splitOnLockTimeout(
    async () => {
      count += 1
      throw failure
    },
    (item: string) => item,
  )
  await expect(work(['one', 'two'])).rejects.toBe(failure)
  expect(count).toBe(1)
})

test('a batch runs in the context of none of its callers', async () => {
  const storage = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const run = batch<number, number>(
    async (items) => {
      seen.push(storage.getStore())
      return items.map(fulfilled)
    },
    { inFlightMax: 1, sizeMax: 1 },
  )
  await Promise.all([1, 2].map((item) => storage.run('a caller', () => run(item))))
  expect(seen).toEqual([undefined, undefined])
})

import { setImmediate } from 'node:timers/promises'

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

import { createPacedStarts, type PacedStarts } from './paced-starts.ts'

const createPaced = (runningMax: number, isBusy = () => false, perTick = 1) => {
  const start = createPacedStarts({ runningMax, perTick }, isBusy)
  return (address: string) => new Promise<() => void>((resolve) => start(address, { start: resolve }))
}

const turns = async (count: number) => {
  for (let index = 0; index < count; index += 1) await setImmediate()
}

test('the first request of an address starts at once, whatever waits for other addresses', async () => {
  const begin = createPaced(2)
  const begun: string[] = []
  const note = async (address: string) => {
    await begin(address)
    begun.push(address)
  }
  for (let index = 0; index < 10; index += 1) void note('busy')
  void note('other')
  await Promise.resolve()
  await Promise.resolve()
  expect(begun).toEqual(['busy', 'other'])
})

test('one request of a burst starts per tick, and only a limited number runs at once', async () => {
  const begin = createPaced(2)
  const ends: (() => void)[] = []
  for (let index = 0; index < 5; index += 1) void begin('busy').then((end) => ends.push(end))
  await Promise.resolve()
  await Promise.resolve()
  expect(ends).toHaveLength(1)
  await turns(10)
  expect(ends).toHaveLength(2)
  ends[0]?.()
  // To say it again changes nothing.
  ends[0]?.()
  await turns(10)
  expect(ends).toHaveLength(3)
})

test('a few requests of a burst start per tick', async () => {
  const begin = createPaced(Infinity, undefined, 3)
  let begun = 0
  for (let index = 0; index < 8; index += 1) void begin('busy').then(() => (begun += 1))
  const perTick: number[] = []
  for (let tick = 0; tick < 4; tick += 1) {
    await Promise.resolve()
    await Promise.resolve()
    perTick.push(begun)
    await setImmediate()
  }
  expect(perTick).toEqual([3, 6, 8, 8])
})

describe('while the process is busy', () => {
  const burstOf = (count: number, start: PacedStarts, address: string, begunAtMs: number[]) => {
    for (let index = 0; index < count; index += 1) {
      start(address, {
        start: (end) => {
          begunAtMs.push(performance.now())
          end()
        },
      })
    }
  }
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('a burst is spread over time if others are served as well', () => {
    const start = createPacedStarts({ runningMax: Infinity, perTick: 4 }, () => true)
    const [burst, other]: [number[], number[]] = [[], []]
    burstOf(1, start, 'other', other)
    burstOf(5, start, 'burst', burst)
    vi.advanceTimersByTime(100)
    expect(burst).toEqual([0, 5, 10, 15, 20])
    expect(other).toEqual([0])
  })

  test('a single address is not slowed down, whatever it requests', () => {
    const start = createPacedStarts({ runningMax: Infinity, perTick: 4 }, () => true)
    const begun: string[] = []
    for (const scope of ['reads', 'creates', 'reads', 'creates', 'reads']) {
      start('only', { start: (end) => [begun.push(scope), end()] }, scope)
    }
    vi.advanceTimersByTime(2)
    expect(begun).toHaveLength(5)
  })

  test('whoever has gone takes no turn', () => {
    const start = createPacedStarts({ runningMax: Infinity, perTick: 4 }, () => true)
    const begun: number[] = []
    let isGone = false
    start('other', { start: (end) => end() })
    for (let index = 0; index < 1_000; index += 1) {
      start('burst', { start: (end) => [begun.push(index), end()], isGone: () => isGone && index < 999 })
    }
    isGone = true
    vi.advanceTimersByTime(10)
    expect(begun).toEqual([0, 999])
  })
})

test('every request starts, and those of one address start in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ address: fc.nat(3), turns: fc.nat(3) }), { maxLength: 40, size: 'max' }),
      fc.boolean(),
      fc.integer({ min: 1, max: 4 }),
      async (given, isBusy, perTick) => {
        const begin = createPaced(3, () => isBusy, perTick)
        const running = new Map<number, number>()
        const begun = new Map<number, number[]>()
        await Promise.all(
          given.map(async ({ address, turns: taken }, index) => {
            const end = await begin(`${address}`)
            running.set(address, (running.get(address) ?? 0) + 1)
            expect(running.get(address)).toBeLessThanOrEqual(3)
            begun.set(address, [...(begun.get(address) ?? []), index])
            await turns(taken)
            running.set(address, (running.get(address) ?? 0) - 1)
            end()
          }),
        )
        for (const order of begun.values()) expect(order).toEqual(order.toSorted((a, b) => a - b))
        expect([...begun.values()].flat()).toHaveLength(given.length)
      },
    ),
  )
})

import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'

import { atWatchedRate, createRateWindow, watchRate } from './minimum-rate.ts'

const minimum = { bytesPerSecondMin: 100, windowMs: 10_000 }
afterEach(() => vi.useRealTimers())

const seconds = (count: number) => Array.from({ length: count }, (_, index) => index)

test('a sender at the minimum rate is never too slow', () => {
  const window = createRateWindow(minimum)
  for (const _ of seconds(1_000)) {
    window.received(100)
    expect(window.waited(1_000)).toBe(false)
  }
})

test('a fast start does not make up for a later stall of one window', () => {
  const window = createRateWindow(minimum)
  window.received(1_000_000_000)
  expect(window.waited(1_000)).toBe(false)
  const verdicts = seconds(11).map(() => window.waited(1_000))
  expect(verdicts.indexOf(true)).toBe(9)
})

test('a sender is never too slow before a whole window has passed', () => {
  const window = createRateWindow(minimum)
  expect(seconds(9).map(() => window.waited(1_000))).not.toContain(true)
  expect(window.waited(1_000)).toBe(true)
})

test('the minimum may rise at any time', () => {
  let factor = 1
  const window = createRateWindow({ ...minimum, factor: () => factor })
  const verdicts = seconds(30).map((second) => {
    factor = second < 20 ? 1 : 4
    window.received(200)
    return window.waited(1_000)
  })
  expect(verdicts.indexOf(true)).toBe(20)
  expect(window.bytesPerSecond()).toBe(200)
})

test('for any rhythm, a sender is too slow only if a window has less than the minimum', () => {
  const slice = fc.record({ bytes: fc.nat(400), ms: fc.integer({ min: 1, max: 1_500 }) })
  fc.assert(
    fc.property(fc.array(slice, { maxLength: 80, size: 'max' }), (slices) => {
      const window = createRateWindow(minimum)
      slices.forEach(({ bytes, ms }, index) => {
        window.received(bytes)
        const isTooSlow = window.waited(ms)
        // The shortest run of slices up to this one that is at least a window long.
        let start = index
        let totalMs = ms
        while (totalMs < minimum.windowMs && start > 0) totalMs += slices[--start]?.ms ?? 0
        const totalBytes = slices.slice(start, index + 1).reduce((sum, each) => sum + each.bytes, 0)
        expect(isTooSlow).toBe(totalMs >= minimum.windowMs && totalBytes < totalMs / 10)
      })
    }),
  )
})

test('a watched sender that trickles is too slow, however fast it started', async () => {
  const minimum = { bytesPerSecondMin: 1_000_000, windowMs: 20 }
  const tooSlow = Promise.withResolvers<void>()
  const watch = watchRate(minimum, tooSlow.resolve)
  async function* trickle() {
    yield Buffer.alloc(10_000_000)
    await tooSlow.promise
  }
  const received: number[] = []
  for await (const chunk of atWatchedRate(trickle(), watch)) received.push(chunk.length)
  watch.stop()
  expect(received).toEqual([10_000_000])
})

test('the time of the reader does not count, and without a minimum no sender is too slow', async () => {
  vi.useFakeTimers()
  const isTooSlow = vi.fn<() => void>()
  const watch = watchRate(minimum, isTooSlow)
  watch.pause()
  vi.advanceTimersByTime(3_600_000)
  watch.resume()
  vi.advanceTimersByTime(9_000)
  expect(isTooSlow).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1_000)
  expect(isTooSlow).toHaveBeenCalled()
  watch.stop()

  const isEverTooSlow = vi.fn<() => void>()
  const unlimited = watchRate({ ...minimum, bytesPerSecondMin: 0 }, isEverTooSlow)
  vi.advanceTimersByTime(3_600_000)
  expect(isEverTooSlow).not.toHaveBeenCalled()
  unlimited.stop()
})

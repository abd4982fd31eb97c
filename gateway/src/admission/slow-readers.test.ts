import type { Socket } from 'node:net'

import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { watchReader } from './slow-readers.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A response of which the client accepts these bytes per second. Returns the second in which it is too slow. */
const secondOfAbort = (bytesPerSecond: number, { isWanted = false, waitingBytes = 1_000_000 } = {}) => {
  const handle = { bytesWritten: 0, writeQueueSize: 0 }
  const socket = { writableLength: waitingBytes, _handle: handle } as unknown as Socket
  let isTooSlow = false
  const stop = watchReader(
    socket,
    4_096,
    () => isWanted,
    () => {
      isTooSlow = true
    },
  )
  let second = 0
  while (second < 100 && !isTooSlow) {
    second += 1
    handle.bytesWritten += bytesPerSecond
    vi.advanceTimersByTime(1_000)
  }
  stop()
  return isTooSlow ? second : undefined
}

test('a client that reads nothing or too little is too slow after a window, earlier if another account waits', () => {
  expect(secondOfAbort(0)).toBe(31)
  expect(secondOfAbort(4_000)).toBe(31)
  expect(secondOfAbort(0, { isWanted: true })).toBe(11)
})

test('a client at the minimum rate, or for whom nothing waits, is not too slow', () => {
  expect(secondOfAbort(4_096, { isWanted: true })).toBeUndefined()
  expect(secondOfAbort(0, { isWanted: true, waitingBytes: 0 })).toBeUndefined()
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { createLog } from './log.ts'
import { CommitOutcomeUnknown, DatabaseStalled } from './postgres-errors.ts'
import { createStallDetector } from './stall-detector.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const log = createLog({ level: 'silent' }, 'test')
const noResponse = () => new Error('Query read timeout')
const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })

/** A detector whose next probes have these outcomes; the last one is repeated. */
const detectorWith = (...outcomes: (Error | undefined)[]) => {
  const probe = vi.fn(async () => {
    const outcome = outcomes.length > 1 ? outcomes.shift() : outcomes[0]
    if (outcome !== undefined) throw outcome
  })
  return { probe, detector: createStallDetector(probe, log) }
}

test('queries fail at once while probes get no response, and work again after one that does', async () => {
  const { probe, detector } = detectorWith(noResponse(), noResponse(), undefined)
  detector.assertResponding()
  detector.observe(noResponse())
  await vi.advanceTimersByTimeAsync(0)
  expect(detector.assertResponding).toThrow(DatabaseStalled)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(detector.assertResponding).toThrow(DatabaseStalled)
  await vi.advanceTimersByTimeAsync(1_000)
  detector.assertResponding()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(probe).toHaveBeenCalledTimes(3)
})

test('a commit without a response counts as well', async () => {
  const { detector } = detectorWith(noResponse())
  detector.observe(new CommitOutcomeUnknown('not confirmed', { cause: noResponse() }))
  await vi.advanceTimersByTimeAsync(0)
  expect(detector.assertResponding).toThrow(DatabaseStalled)
})

test('a single connection that hangs is no stall', async () => {
  const { detector } = detectorWith(undefined)
  detector.observe(noResponse())
  detector.assertResponding()
  await vi.advanceTimersByTimeAsync(0)
  detector.assertResponding()
})

test('a server that refuses connections is no stall: queries fail by themselves', async () => {
  const { detector } = detectorWith(refused())
  detector.observe(noResponse())
  await vi.advanceTimersByTimeAsync(0)
  detector.assertResponding()
})

test('other errors cause no probe, and many timeouts cause one at a time', async () => {
  const { probe, detector } = detectorWith(noResponse())
  detector.observe(refused())
  detector.observe(new DatabaseStalled('the database does not respond'))
  expect(probe).not.toHaveBeenCalled()
  for (let count = 0; count < 10; count += 1) detector.observe(noResponse())
  await vi.advanceTimersByTimeAsync(0)
  expect(probe).toHaveBeenCalledTimes(1)
  detector.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(probe).toHaveBeenCalledTimes(1)
})

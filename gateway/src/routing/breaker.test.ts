import fc from 'fast-check'
import { expect, test } from 'vitest'

import { afterCall, newBreaker, openMsMost, stateOf, type Breaker } from './breaker.ts'
import type { CallOutcome } from './route.ts'

const middle = () => 0.5
const failures: CallOutcome[] = ['not_delivered', 'unknown', 'busy']

/** The breaker after these calls, all at the same time. */
const after = (
  outcomes: CallOutcome[],
  nowMs: number,
  { from = newBreaker(), isProbe = false }: { from?: Breaker; isProbe?: boolean } = {},
) => outcomes.reduce((breaker, outcome) => afterCall(breaker, { outcome, isProbe }, nowMs, middle), from)
const times = (count: number, outcome: CallOutcome) => Array.from({ length: count }, () => outcome)

test('five consecutive failures open the breaker for five seconds, four do not', () => {
  expect(stateOf(after(times(4, 'not_delivered'), 0), 0).kind).toBe('closed')
  const opened = after(times(5, 'not_delivered'), 0)
  expect(stateOf(opened, 0)).toEqual({
    kind: 'open',
    reason: 'breaker open for another 5 s: 5 failures in a row (not delivered)',
    forMs: 5_000,
  })
  expect(stateOf(opened, 4_999).kind).toBe('open')
  expect(stateOf(opened, 5_000)).toMatchObject({ kind: 'half-open', forMs: 0 })
})

test.each(['ok', 'rejected', 'moderated'] as const)(
  'a call that ends %s resets the consecutive failures',
  (outcome) => {
    const calls = [...times(4, 'unknown'), outcome, ...times(4, 'unknown')]
    expect(stateOf(after(calls, 0), 0).kind).toBe('closed')
  },
)

test('one refused credential opens the breaker until a probe succeeds', () => {
  const refused = after(['unauthorized'], 0)
  expect(stateOf(refused, 0).reason).toBe('breaker open for another 5 s: credential refused')
  expect(refused.open?.isUnauthorized).toBe(true)
  // A call that was in flight when it opened changes nothing.
  expect(after(['unauthorized'], 1, { from: refused })).toBe(refused)
  const again = after(['unauthorized'], 5_000, { from: refused, isProbe: true })
  expect(stateOf(again, 5_000)).toMatchObject({ kind: 'open', forMs: 10_000 })
  const closed = after(['ok'], 15_000, { from: again, isProbe: true })
  expect(stateOf(closed, 15_000).kind).toBe('closed')
})

test('ten failures of twenty calls within 30 s open the breaker, fewer calls or a longer time do not', () => {
  const pair: CallOutcome[] = ['unknown', 'ok']
  const pairs = (count: number) => Array.from({ length: count }, () => pair).flat()
  const nineteen = after([...pairs(9), 'ok'], 0)
  expect(stateOf(nineteen, 0).kind).toBe('closed')
  expect(stateOf(after(['unknown'], 29_000, { from: nineteen }), 29_000).reason).toContain(
    '10 of 20 calls within 30 s failed (no clear answer)',
  )
  expect(stateOf(after(['unknown'], 31_000, { from: nineteen }), 31_000).kind).toBe('closed')
})

test('a busy provider is paused for its Retry-After, and unhealthy only if it is busy without interruption', () => {
  const busy = { outcome: 'busy', retryAfterMs: 3_000, isProbe: false } as const
  const asked = afterCall(newBreaker(), busy, 0)
  expect(stateOf(asked, 0)).toEqual({ kind: 'waiting', reason: 'Retry-After of 3 s', forMs: 3_000 })
  expect(stateOf(asked, 3_000).kind).toBe('closed')
  // Many busy responses at once mean a lack of capacity, not an outage.
  const crowd = after(times(100, 'busy'), 1_000)
  expect(crowd.open).toBeUndefined()
  const between = after(['ok'], 9_000, { from: crowd })
  expect(after(times(10, 'busy'), 15_000, { from: between }).open).toBeUndefined()
  expect(after(times(5, 'busy'), 11_000, { from: crowd }).open).toBeDefined()
})

test('a successful probe closes the breaker; a failed probe doubles the open time up to a limit', () => {
  let breaker = after(times(5, 'not_delivered'), 0)
  let nowMs = 0
  const lengths: number[] = []
  for (let opening = 0; opening < 6; opening += 1) {
    const { forMs } = stateOf(breaker, nowMs)
    lengths.push(forMs)
    nowMs += forMs
    breaker = after(['not_delivered'], nowMs, { from: breaker, isProbe: true })
  }
  expect(lengths).toEqual([5_000, 10_000, 20_000, 30_000, 30_000, 30_000])
  nowMs += openMsMost
  const back = after(['ok'], nowMs, { from: breaker, isProbe: true })
  expect(stateOf(back, nowMs).kind).toBe('closed')
  // An opening soon after continues with the longest time; a later one starts over.
  expect(stateOf(after(times(5, 'unknown'), nowMs + 1, { from: back }), nowMs + 1).forMs).toBe(openMsMost)
  const later = nowMs + 60_000
  expect(stateOf(after(times(5, 'unknown'), later, { from: back }), later).forMs).toBe(5_000)
})

test('calls that were made before the breaker opened change nothing', () => {
  const opened = after(times(5, 'unknown'), 0)
  for (const nowMs of [1_000, 6_000]) expect(after(['unknown'], nowMs, { from: opened })).toEqual(opened)
  expect(after(['ok'], 1_000, { from: opened })).toEqual(opened)
})

test('the open time after a failed probe counts from its start, so that a probe that times out does not prolong it', () => {
  const opened = after(times(5, 'unknown'), 0)
  const probe = { outcome: 'unknown', isProbe: true, startedMs: 5_000 } as const
  expect(stateOf(afterCall(opened, probe, 9_000, middle), 9_000)).toMatchObject({
    kind: 'open',
    forMs: 6_000,
  })
  expect(stateOf(afterCall(opened, probe, 65_000, middle), 65_000).kind).toBe('half-open')
})

test('failures of calls that began before the recovery change nothing', () => {
  const back = after(['ok'], 5_000, { from: after(times(5, 'unknown'), 0), isProbe: true })
  for (const outcome of ['unknown', 'not_delivered', 'busy', 'unauthorized'] as const) {
    const early = { outcome, isProbe: false, startedMs: 4_999 }
    expect(afterCall(back, early, 30_000, middle)).toBe(back)
    const later = afterCall(back, { ...early, startedMs: 5_000 }, 30_000, middle)
    expect(later).not.toBe(back)
  }
})

test('over any history the breaker opens only after failures and for a bounded time', () => {
  const call = fc.record({
    outcome: fc.constantFrom<CallOutcome>('ok', 'rejected', 'moderated', 'not_delivered', 'unknown', 'busy'),
    afterMs: fc.nat(20_000),
    drawn: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(call, { maxLength: 200, size: 'max' }), (history) => {
      let breaker = newBreaker()
      let nowMs = 1
      for (const { outcome, afterMs, drawn } of history) {
        nowMs += afterMs
        const before = breaker
        const isProbe = stateOf(before, nowMs).kind === 'half-open'
        breaker = afterCall(before, { outcome, isProbe }, nowMs, () => drawn)
        const hasOpened = breaker.open !== undefined && breaker.open !== before.open
        if (hasOpened) expect(failures).toContain(outcome)
        if (hasOpened && before.open !== undefined) expect(isProbe).toBe(true)
        const { forMs } = stateOf(breaker, nowMs)
        expect(forMs).toBeLessThanOrEqual(openMsMost * 1.2)
        expect(stateOf(breaker, nowMs + forMs).kind).toMatch(/closed|half-open/)
        if (isProbe && outcome === 'ok') expect(breaker.open).toBeUndefined()
      }
    }),
  )
})

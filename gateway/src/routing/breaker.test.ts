import fc from 'fast-check'
import { expect, test } from 'vitest'

import { afterCall, newBreaker, openMsMost, standingOf, type Breaker } from './breaker.ts'
import type { CallOutcome } from './route.ts'

const middle = () => 0.5
const failures: CallOutcome[] = ['not_delivered', 'unknown', 'busy']

/** The breaker after these calls, all at one moment. */
const after = (
  outcomes: CallOutcome[],
  nowMs: number,
  { from = newBreaker(), isProbe = false }: { from?: Breaker; isProbe?: boolean } = {},
) => outcomes.reduce((breaker, outcome) => afterCall(breaker, { outcome, isProbe }, nowMs, middle), from)
const times = (count: number, outcome: CallOutcome) => Array.from({ length: count }, () => outcome)

test('five failures in a row open it for five seconds, four do not', () => {
  expect(standingOf(after(times(4, 'not_delivered'), 0), 0).kind).toBe('closed')
  const opened = after(times(5, 'not_delivered'), 0)
  expect(standingOf(opened, 0)).toEqual({
    kind: 'open',
    reason: 'breaker open for another 5 s: 5 failures in a row (not delivered)',
    forMs: 5_000,
  })
  expect(standingOf(opened, 4_999).kind).toBe('open')
  expect(standingOf(opened, 5_000)).toMatchObject({ kind: 'half open', forMs: 0 })
})

test.each(['ok', 'rejected', 'moderated'] as const)('a call that ends %s breaks a row', (outcome) => {
  const calls = [...times(4, 'unknown'), outcome, ...times(4, 'unknown')]
  expect(standingOf(after(calls, 0), 0).kind).toBe('closed')
})

test('one refusal of our credential opens it at once, and says so until a probe goes well', () => {
  const refused = after(['unauthorized'], 0)
  expect(standingOf(refused, 0).reason).toBe('breaker open for another 5 s: credential refused')
  expect(refused.open?.isUnauthorized).toBe(true)
  // What was under way when it opened tells nothing new.
  expect(after(['unauthorized'], 1, { from: refused })).toBe(refused)
  const again = after(['unauthorized'], 5_000, { from: refused, isProbe: true })
  expect(standingOf(again, 5_000)).toMatchObject({ kind: 'open', forMs: 10_000 })
  const well = after(['ok'], 15_000, { from: again, isProbe: true })
  expect(standingOf(well, 15_000).kind).toBe('closed')
})

test('half of twenty calls within 30 s open it, of nineteen or over a longer time they do not', () => {
  const pair: CallOutcome[] = ['unknown', 'ok']
  const pairs = (count: number) => Array.from({ length: count }, () => pair).flat()
  const nineteen = after([...pairs(9), 'ok'], 0)
  expect(standingOf(nineteen, 0).kind).toBe('closed')
  expect(standingOf(after(['unknown'], 29_000, { from: nineteen }), 29_000).reason).toContain(
    '10 of 20 calls within 30 s failed (no clear answer)',
  )
  expect(standingOf(after(['unknown'], 31_000, { from: nineteen }), 31_000).kind).toBe('closed')
})

test('one that is busy is left alone for as long as it asks, and unhealthy only where it is nothing but busy', () => {
  const busy = { outcome: 'busy', retryAfterMs: 3_000, isProbe: false } as const
  const asked = afterCall(newBreaker(), busy, 0)
  expect(standingOf(asked, 0)).toEqual({ kind: 'waiting', reason: 'asked to wait 3 s', forMs: 3_000 })
  expect(standingOf(asked, 3_000).kind).toBe('closed')
  // A hundred that are turned away at once are one that has no room, not one that is broken.
  const crowd = after(times(100, 'busy'), 1_000)
  expect(crowd.open).toBeUndefined()
  const between = after(['ok'], 9_000, { from: crowd })
  expect(after(times(10, 'busy'), 15_000, { from: between }).open).toBeUndefined()
  expect(after(times(5, 'busy'), 11_000, { from: crowd }).open).toBeDefined()
})

test('a probe that goes well closes it; one that fails leaves it open for twice as long, up to a minute', () => {
  let breaker = after(times(5, 'not_delivered'), 0)
  let nowMs = 0
  const lengths: number[] = []
  for (let opening = 0; opening < 6; opening += 1) {
    const { forMs } = standingOf(breaker, nowMs)
    lengths.push(forMs)
    nowMs += forMs
    breaker = after(['not_delivered'], nowMs, { from: breaker, isProbe: true })
  }
  expect(lengths).toEqual([5_000, 10_000, 20_000, 30_000, 30_000, 30_000])
  nowMs += openMsMost
  const back = after(['ok'], nowMs, { from: breaker, isProbe: true })
  expect(standingOf(back, nowMs).kind).toBe('closed')
  // Soon after, it goes on where it was; later it begins anew.
  expect(standingOf(after(times(5, 'unknown'), nowMs + 1, { from: back }), nowMs + 1).forMs).toBe(openMsMost)
  const later = nowMs + 60_000
  expect(standingOf(after(times(5, 'unknown'), later, { from: back }), later).forMs).toBe(5_000)
})

test('the ends of calls that were made before it opened change nothing', () => {
  const opened = after(times(5, 'unknown'), 0)
  for (const nowMs of [1_000, 6_000]) expect(after(['unknown'], nowMs, { from: opened })).toEqual(opened)
  expect(after(['ok'], 1_000, { from: opened })).toEqual(opened)
})

test('over any history it is open only after failures, never for longer than it may be, and never for good', () => {
  const call = fc.record({
    outcome: fc.constantFrom<CallOutcome>('ok', 'rejected', 'moderated', 'not_delivered', 'unknown', 'busy'),
    afterMs: fc.nat(20_000),
    chance: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(call, { maxLength: 200, size: 'max' }), (history) => {
      let breaker = newBreaker()
      let nowMs = 1
      for (const { outcome, afterMs, chance } of history) {
        nowMs += afterMs
        const before = breaker
        const isProbe = standingOf(before, nowMs).kind === 'half open'
        breaker = afterCall(before, { outcome, isProbe }, nowMs, () => chance)
        const hasOpened = breaker.open !== undefined && breaker.open !== before.open
        if (hasOpened) expect(failures).toContain(outcome)
        if (hasOpened && before.open !== undefined) expect(isProbe).toBe(true)
        const { forMs } = standingOf(breaker, nowMs)
        expect(forMs).toBeLessThanOrEqual(openMsMost * 1.2)
        expect(standingOf(breaker, nowMs + forMs).kind).toMatch(/closed|half open/)
        if (isProbe && outcome === 'ok') expect(breaker.open).toBeUndefined()
      }
    }),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  afterFirst,
  afterRetry,
  earnedEveryMs,
  newBudget,
  nextRetryMs,
  savedAtFirst,
  savedMost,
} from './retry-budget.ts'

/** Calls of either kind with the time before each; all retries are made that may be. */
const histories = fc.array(fc.record({ kind: fc.constantFrom('first', 'retry'), afterMs: fc.nat(3_000) }), {
  maxLength: 400,
  size: 'max',
})

test('over any history retries are at most a tenth of first attempts, what was there, and what time brings', () => {
  fc.assert(
    fc.property(histories, (history) => {
      let nowMs = 0
      let budget = newBudget(nowMs)
      let firsts = 0
      let retries = 0
      const breaches: unknown[] = []
      for (const { kind, afterMs } of history) {
        nowMs += afterMs
        const left = kind === 'first' ? afterFirst(budget, nowMs) : afterRetry(budget, nowMs)
        if (kind === 'first') firsts += 1
        else if (left !== undefined) retries += 1
        budget = left ?? budget
        const most = firsts * 0.1 + savedAtFirst + nowMs / earnedEveryMs + 1e-6
        const isBreached = retries > most || budget.saved < 0 || budget.saved > savedMost
        if (isBreached) breaches.push({ retries, most, ...budget })
      }
      expect(breaches).toEqual([])
    }),
  )
})

test('what is saved up is bounded, so a quiet week does not pay for a storm', () => {
  let budget = newBudget(0)
  let made = 0
  for (let left = afterRetry(budget, 7 * 86_400_000); left !== undefined; made += 1) {
    budget = left
    left = afterRetry(budget, 7 * 86_400_000)
  }
  expect(made).toBe(savedMost)
})

test('a service with nothing else to do may repeat once in a while, and says when', () => {
  let budget = newBudget(0)
  for (let spent = 0; spent < savedAtFirst; spent += 1) budget = afterRetry(budget, 0) ?? budget
  expect(afterRetry(budget, earnedEveryMs - 1)).toBeUndefined()
  expect(nextRetryMs(budget, earnedEveryMs / 4)).toBe((earnedEveryMs * 3) / 4)
  expect(afterRetry(budget, earnedEveryMs)).toBeDefined()
})

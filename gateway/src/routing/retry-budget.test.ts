import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  afterFirst,
  afterRetry,
  tokenIntervalMs,
  newBudget,
  nextRetryMs,
  initialTokens,
  tokensMax,
} from './retry-budget.ts'

/** First attempts and retries, with the time before each. */
const histories = fc.array(fc.record({ kind: fc.constantFrom('first', 'retry'), afterMs: fc.nat(3_000) }), {
  maxLength: 400,
  size: 'max',
})

test('over any history retries are limited to a tenth of first attempts, the initial tokens and the tokens of time', () => {
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
        const most = firsts * 0.1 + initialTokens + nowMs / tokenIntervalMs + 1e-6
        const isBreached = retries > most || budget.tokens < 0 || budget.tokens > tokensMax
        if (isBreached) breaches.push({ retries, most, ...budget })
      }
      expect(breaches).toEqual([])
    }),
  )
})

test('tokens are capped, so idle time does not allow a retry storm', () => {
  let budget = newBudget(0)
  let made = 0
  for (let left = afterRetry(budget, 7 * 86_400_000); left !== undefined; made += 1) {
    budget = left
    left = afterRetry(budget, 7 * 86_400_000)
  }
  expect(made).toBe(tokensMax)
})

test('at low traffic a retry is allowed at intervals, and the wait is known', () => {
  let budget = newBudget(0)
  for (let spent = 0; spent < initialTokens; spent += 1) budget = afterRetry(budget, 0) ?? budget
  expect(afterRetry(budget, tokenIntervalMs - 1)).toBeUndefined()
  expect(nextRetryMs(budget, tokenIntervalMs / 4)).toBe((tokenIntervalMs * 3) / 4)
  expect(afterRetry(budget, tokenIntervalMs)).toBeDefined()
})

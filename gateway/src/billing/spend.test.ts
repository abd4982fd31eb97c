import fc from 'fast-check'
import { expect, test } from 'vitest'

import { refusalOf } from './spend.ts'

const nowMs = 1_800_000_000_000
const moment = fc.integer({ min: -1_000, max: 1_000 }).map((offsetMs) => new Date(nowMs + offsetMs))
const amount = fc.integer({ min: 0, max: 1_000 })

const situation = fc.record({
  amountMicros: amount,
  purse: fc.constantFrom('payg' as const, 'subscription' as const),
  power: fc.option(
    fc.record({
      availableMicros: amount,
      subscriptionEndsAt: fc.option(moment),
      subscriptionCycleEndsAt: fc.option(moment),
      hasPaymentFailed: fc.boolean(),
    }),
    { nil: undefined },
  ),
  quota: fc.option(fc.record({ quotaMicros: amount, usedMicros: amount }), { nil: undefined }),
})

test('a hold stands exactly when subscription, quota and purse all allow it, and the refusal is the first that does not', () => {
  fc.assert(
    fc.property(situation, ({ amountMicros, purse, power, quota }) => {
      const isSubscription = purse === 'subscription'
      const isOver = isSubscription && (power?.subscriptionEndsAt?.getTime() ?? 0) <= nowMs
      const isBeyondQuota = quota !== undefined && quota.usedMicros + amountMicros > quota.quotaMicros
      const isTooLow = amountMicros > (power?.availableMicros ?? 0)
      const expected = isOver
        ? 'subscription_expired'
        : isBeyondQuota
          ? 'quota_exceeded'
          : !isTooLow
            ? undefined
            : isSubscription
              ? 'quota_exceeded'
              : power?.hasPaymentFailed === true
                ? 'payment_failed'
                : 'insufficient_balance'
      const refusal = refusalOf({ amountMicros, purse }, power, quota, nowMs)
      expect(refusal?.code).toBe(expected)
      if (refusal !== undefined) {
        expect(refusal.headers).toEqual({ 'x-should-retry': 'false' })
        expect(refusal.param).toBeUndefined()
      }
    }),
    { numRuns: 1_000 },
  )
})

test('holds that are placed one after the other never take more than there is', () => {
  fc.assert(
    fc.property(
      amount,
      fc.array(amount, { maxLength: 50 }),
      fc.option(amount, { nil: undefined }),
      (balance, wanted, quotaMicros) => {
        const power = {
          availableMicros: balance,
          subscriptionEndsAt: null,
          subscriptionCycleEndsAt: null,
          hasPaymentFailed: false,
        }
        const quota = quotaMicros === undefined ? undefined : { quotaMicros, usedMicros: 0 }
        for (const amountMicros of wanted) {
          if (refusalOf({ amountMicros, purse: 'payg' }, power, quota, nowMs) !== undefined) continue
          power.availableMicros -= amountMicros
          if (quota !== undefined) quota.usedMicros += amountMicros
        }
        expect(power.availableMicros).toBeGreaterThanOrEqual(0)
        if (quota !== undefined) expect(quota.usedMicros).toBeLessThanOrEqual(quota.quotaMicros)
      },
    ),
  )
})

test('a refusal for lack of money says what there is and what is needed', () => {
  const power = {
    availableMicros: 100_000,
    subscriptionEndsAt: null,
    subscriptionCycleEndsAt: null,
    hasPaymentFailed: false,
  }
  expect(refusalOf({ amountMicros: 400_000, purse: 'payg' }, power, undefined)?.message).toBe(
    'The balance of 0.10 is too low; this request needs 0.40.',
  )
})

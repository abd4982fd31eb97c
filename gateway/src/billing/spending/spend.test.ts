import fc from 'fast-check'
import { expect, test } from 'vitest'

import { endOf, periods, startOf } from '../money/period.ts'
import { refusalOf, usedNow, type SpendingPower } from './spend.ts'
import type { KeyLimits } from './spending-store.ts'

const nowMs = Date.UTC(2026, 10, 18, 13, 45, 30)
const moment = fc.integer({ min: -1_000, max: 1_000 }).map((offsetMs) => new Date(nowMs + offsetMs))
const amount = fc.integer({ min: 0, max: 1_000 })
const limitMicros = amount
const usedMicros = amount
const noLimits: KeyLimits = { quota: undefined, budgets: [] }

const budget = fc.record({
  period: fc.constantFrom(...periods),
  limitMicros,
  usedMicros,
  startedAtMs: fc.constantFrom(
    0,
    ...periods.flatMap((period) => [startOf(period, nowMs), startOf(period, startOf(period, nowMs) - 1)]),
  ),
})
const power = fc.option(
  fc.record({
    availableMicros: amount,
    subscriptionEndsAt: fc.option(moment),
    subscriptionCycleEndsAt: fc.option(moment),
    hasPaymentFailed: fc.boolean(),
    monthly: fc.option(fc.record({ capMicros: amount, spentMicros: amount }), { nil: undefined }),
  }),
  { nil: undefined },
)
const limits = fc.record({
  quota: fc.option(fc.record({ limitMicros, usedMicros }), { nil: undefined }),
  budgets: fc.uniqueArray(budget, { selector: ({ period }) => period }),
})
const wallet = fc.constantFrom('payg' as const, 'subscription' as const)

/** The rule of the contract, implemented independently. */
const expectedCode = (
  amountMicros: number,
  isSubscription: boolean,
  given: SpendingPower | undefined,
  { quota, budgets }: KeyLimits,
) => {
  if (isSubscription && (given?.subscriptionEndsAt?.getTime() ?? 0) <= nowMs) return 'subscription_expired'
  const exceeds = (limit: number, used: number) => used + amountMicros > limit
  if (quota !== undefined && exceeds(quota.limitMicros, quota.usedMicros)) return 'quota_exceeded'
  if (budgets.some((each) => exceeds(each.limitMicros, usedNow(each, nowMs)))) return 'quota_exceeded'
  const monthly = given?.monthly
  if (monthly !== undefined && exceeds(monthly.capMicros, monthly.spentMicros)) return 'quota_exceeded'
  if (amountMicros <= (given?.availableMicros ?? 0)) return undefined
  if (isSubscription) return 'quota_exceeded'
  return given?.hasPaymentFailed === true ? 'payment_failed' : 'insufficient_balance'
}

test('a hold is accepted exactly if subscription, limits and wallet allow it, and the error names the first that does not', () => {
  fc.assert(
    fc.property(amount, wallet, power, limits, (amountMicros, from, given, of) => {
      const refusal = refusalOf({ amountMicros, wallet: from, currency: 'USD' }, given, of, nowMs)
      expect(refusal?.code).toBe(expectedCode(amountMicros, from === 'subscription', given, of))
      if (refusal !== undefined) {
        expect(refusal.headers).toEqual({ 'x-should-retry': 'false' })
        expect(refusal.param).toBeUndefined()
      }
    }),
    { numRuns: 2_000 },
  )
})

const rich: SpendingPower = {
  availableMicros: 100_000,
  subscriptionEndsAt: null,
  subscriptionCycleEndsAt: null,
  hasPaymentFailed: false,
  monthly: undefined,
}

test.each<[string, KeyLimits, Partial<SpendingPower>]>([
  [
    'The balance is too low: 0.10 USD available; this request needs 0.40 USD. Top up the account and try again.',
    noLimits,
    {},
  ],
  [
    "This key's quota is too low: 0.30 of 0.50 USD left; this request needs 0.40 USD.",
    { quota: { limitMicros: 500_000, usedMicros: 200_000 }, budgets: [] },
    {},
  ],
  [
    "This key's quota is used up: 0.00 of 0.00 USD left; this request needs 0.40 USD.",
    { quota: { limitMicros: 0, usedMicros: 0 }, budgets: [] },
    {},
  ],
  [
    "This key's budget per hour is too low: 0.20 of 0.50 USD left; this request needs 0.40 USD. It resets at 2026-11-18T14:00:00.000Z.",
    {
      quota: undefined,
      budgets: [
        { period: 'day', limitMicros: 100_000, usedMicros: 0, startedAtMs: 0 },
        {
          period: 'hour',
          limitMicros: 500_000,
          usedMicros: 300_000,
          startedAtMs: startOf('hour', nowMs),
        },
      ],
    },
    {},
  ],
  [
    "This key's budget per week is too low: 0.30 of 0.30 USD left; this request needs 0.40 USD. It resets at 2026-11-23T00:00:00.000Z.",
    { quota: undefined, budgets: [{ period: 'week', limitMicros: 300_000, usedMicros: 9, startedAtMs: 0 }] },
    {},
  ],
  [
    "The account's spend cap per month is too low: 0.25 of 1.00 USD left; this request needs 0.40 USD. It resets at 2026-12-01T00:00:00.000Z.",
    noLimits,
    { monthly: { capMicros: 1_000_000, spentMicros: 750_000 } },
  ],
])('the error names the limit, the amount left and the time of the reset: %s', (message, of, given) => {
  const refusal = refusalOf(
    { amountMicros: 400_000, wallet: 'payg', currency: 'USD' },
    { ...rich, ...given },
    of,
    nowMs,
  )
  expect(refusal?.message).toBe(message)
})

test('the error of a subscription gives the time of the next cycle, or of the end if that is earlier', () => {
  const given = (cycleDays: number): SpendingPower => ({
    ...rich,
    subscriptionEndsAt: new Date(nowMs + 10 * 86_400_000),
    subscriptionCycleEndsAt: new Date(nowMs + cycleDays * 86_400_000),
  })
  const hold = { amountMicros: 400_000, wallet: 'subscription' as const, currency: 'EUR' }
  expect(refusalOf(hold, given(1), noLimits, nowMs)?.message).toBe(
    "The subscription's quota for this cycle is too low: 0.10 EUR left; this request needs 0.40 EUR. It resets at 2026-11-19T13:45:30.000Z.",
  )
  expect(refusalOf(hold, given(30), noLimits, nowMs)?.message).toBe(
    "The subscription's quota for this cycle is too low: 0.10 EUR left; this request needs 0.40 EUR. The subscription ends at 2026-11-28T13:45:30.000Z.",
  )
})

test('periods follow each other without gap or overlap, and contain their moments', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...periods),
      fc.integer({ min: 0, max: 4_000_000_000_000 }),
      (period, atMs) => {
        const [start, end] = [startOf(period, atMs), endOf(period, atMs)]
        expect(start <= atMs && atMs < end).toBe(true)
        expect(startOf(period, end)).toBe(end)
        expect(endOf(period, start - 1)).toBe(start)
        if (period === 'week') expect(new Date(start).getUTCDay()).toBe(1)
      },
    ),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  countDecimals,
  formatAmount,
  formatShare,
  formatTableAmount,
  formatTableQuantity,
  legsOf,
  movementBooks,
  type Movement,
  type MovementKind,
} from './money.ts'

const kinds = Object.keys(movementBooks) as MovementKind[]
const movement: fc.Arbitrary<Movement> = fc.record({
  kind: fc.constantFrom(...kinds),
  accountId: fc.uuid(),
  wallet: fc.constantFrom('payg', 'subscription'),
  taskId: fc.option(fc.string()),
  day: fc.constant('2026-01-31'),
  amountMicros: fc.maxSafeNat(),
})

test('the two legs of every movement sum to zero and are in different books', () => {
  fc.assert(
    fc.property(movement, (given) => {
      const [from, to] = legsOf(given)
      expect(from.amountMicros + to.amountMicros).toBe(0)
      expect(from.amountMicros).toBeLessThanOrEqual(0)
      expect(from.book).not.toBe(to.book)
      expect([from.book, to.book]).toEqual([movementBooks[given.kind].from, movementBooks[given.kind].to])
      for (const leg of [from, to]) {
        expect(leg).toMatchObject({
          movement: given.kind,
          accountId: given.accountId,
          wallet: given.wallet,
          taskId: given.taskId,
          day: given.day,
        })
      }
    }),
  )
})

test('a hold that is captured and released in any split changes only available and revenue', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), movement, (captured, released, given) => {
      const amounts = { hold: captured + released, capture: captured, release: released }
      const books: Record<string, number> = { available: 0, held: 0, revenue: 0 }
      for (const [kind, amountMicros] of Object.entries(amounts)) {
        for (const leg of legsOf({ ...given, kind: kind as MovementKind, amountMicros })) {
          books[leg.book] = (books[leg.book] ?? 0) + leg.amountMicros
        }
      }
      expect(books).toEqual({ available: 0 - captured, held: 0, revenue: captured })
    }),
  )
})

test('only positive integer amounts are accepted, except for negative adjustments', () => {
  fc.assert(
    fc.property(
      movement,
      fc.double().filter((value) => !Number.isSafeInteger(value)),
      (given, amountMicros) => {
        expect(() => legsOf({ ...given, amountMicros })).toThrow(RangeError)
      },
    ),
  )
  fc.assert(
    fc.property(movement, fc.integer({ max: -1 }), (given, amountMicros) => {
      if (given.kind === 'adjustment') {
        const [funding, available] = legsOf({ ...given, amountMicros })
        expect([funding.amountMicros, available.amountMicros]).toEqual([-amountMicros, amountMicros])
      } else {
        expect(() => legsOf({ ...given, amountMicros })).toThrow(RangeError)
      }
    }),
  )
})

test('formatted amounts contain their currency and parse back to the same amount', () => {
  expect(formatAmount(12_345_678, 'USD')).toBe('12.345678 USD')
  expect(formatAmount(400_000, 'EUR')).toBe('0.40 EUR')
  expect(formatAmount(0, 'USD')).toBe('0.00 USD')
  expect(formatAmount(1, 'USD')).toBe('0.000001 USD')
  expect(formatAmount(-2_500_000, 'USD')).toBe('-2.50 USD')
  expect(formatShare(300_000, 500_000, 'USD')).toBe('0.30 of 0.50 USD')
  const amounts = fc.oneof(fc.integer(), fc.maxSafeInteger())
  fc.assert(
    fc.property(amounts, fc.constantFrom('USD', 'JPY', 'KWD'), (micros, currency) => {
      const [, sign = '', whole = '', fraction = ''] =
        /^(-?)(\d+)(?:\.(\d{2,6}|\d))? [A-Z]{3}$/.exec(formatAmount(micros, currency)) ?? []
      expect(`${sign}${BigInt(`${whole}${fraction.padEnd(6, '0')}`)}`).toBe(String(micros))
    }),
  )
})

test('amounts have at least the decimals of their currency', () => {
  expect(['JPY', 'USD', 'KWD'].map((currency) => formatAmount(3_000_000, currency))).toEqual([
    '3 JPY',
    '3.00 USD',
    '3.000 KWD',
  ])
  expect(formatAmount(400_000, 'JPY')).toBe('0.4 JPY')
})

test('the amounts of a table are aligned and grouped', () => {
  expect(countDecimals([1_000_000, 1_234_500], 'USD')).toBe(4)
  expect(countDecimals([], 'USD')).toBe(0)
  expect(formatTableAmount(-1_234_567_000_000, 'USD', 4)).toBe('\u22121,234,567.0000')
  expect(formatTableAmount(999_000_000, 'JPY', 0)).toBe('999')
  expect(formatTableAmount(1, 'USD', 6)).toBe('0.000001')
  expect(formatTableQuantity('1234567.125')).toBe('1,234,567.125')
  expect(formatTableQuantity('12')).toBe('12')
})

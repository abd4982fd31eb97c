import { expect, test } from 'vitest'

import { priceAt, priceOf } from './price.ts'

test('a price keeps its inputs beside its total', () => {
  expect(priceOf('second', 300_000, 25)).toEqual({
    unit: 'second',
    unitMicros: 300_000,
    quantity: 25,
    totalMicros: 7_500_000,
  })
  expect(priceAt({ unit: 'call', unitMicros: 5, version: 3 }, 1)).toEqual({
    ...{ unit: 'call', unitMicros: 5, quantity: 1, totalMicros: 5, version: 3 },
  })
})

test.each([
  [2.7, 270],
  [2.701, 271],
  [0.001, 1],
  [86_400, 8_640_000],
])(
  '%d seconds by the minute cost %i micros, and not one more for how a fraction is written',
  (seconds, micros) => {
    expect(priceOf('minute', 6_000, seconds).totalMicros).toBe(micros)
  },
)

import { expect, test } from 'vitest'

import { priceOfVideo } from './price.ts'

test('a price keeps its inputs beside its total', () => {
  expect(priceOfVideo(300_000, 25)).toEqual({
    unit: 'second',
    unitMicros: 300_000,
    quantity: 25,
    totalMicros: 7_500_000,
  })
})

import { expect, test } from 'vitest'

import { amountText, durationText } from './texts.ts'

test.for([
  [-5, '0 s'],
  [400, '0.4 s'],
  [9_960, '10 s'],
  [12_900, '12 s'],
  [63_000, '1 min 3 s'],
  [60_000, '1 min'],
  [3_780_000, '1 h 3 min'],
  [90_000_000, '1 d 1 h'],
] as const)('%d ms are %s', ([ms, text]) => expect(durationText(ms)).toBe(text))

test.for([
  [0, '0.00 USD'],
  [400_000, '0.40 USD'],
  [123_456, '0.123456 USD'],
  [-1_500_000, '-1.50 USD'],
  [9_007_199_254_740_991, '9007199254.740991 USD'],
] as const)('%d micros are %s', ([micros, text]) => expect(amountText(micros, 'USD')).toBe(text))

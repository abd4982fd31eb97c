import { expect, test } from 'vitest'

import { formatTraceparent, parseTraceparent } from './traceparent.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test('a traceparent is read and written', () => {
  const text = `00-${traceId}-${spanId}-01`
  const parsed = parseTraceparent(text)
  expect(parsed).toEqual({ traceId, spanId, traceFlags: 1, isRemote: true })
  expect(parsed && formatTraceparent(parsed)).toBe(text)
})

test('unknown flags are dropped', () => {
  const parsed = parseTraceparent(`00-${traceId}-${spanId}-fe`)
  expect(parsed?.traceFlags).toBe(0)
})

test.for([
  undefined,
  ['a', 'b'],
  '',
  'x'.repeat(55),
  'x'.repeat(100_000),
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-0\n`,
  ` 00-${traceId}-${spanId}-01`,
])('what is no valid traceparent is ignored: %#', (text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})

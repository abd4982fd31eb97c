import { expect, test } from 'vitest'

import { asOf, monthOfDay, parseMonth, presentMonth } from './statement-month.ts'

const december = monthOfDay('2026-12-01')
const endSeconds = Date.UTC(2027, 0) / 1000

test('a month ends with the first moment of the next one', () => {
  expect(december).toEqual({
    name: '2026-12',
    start: new Date('2026-12-01T00:00:00Z'),
    end: new Date('2027-01-01T00:00:00Z'),
  })
  expect(parseMonth('2028-02')?.end).toEqual(new Date('2028-03-01T00:00:00Z'))
  expect(parseMonth('0099-12')?.end).toEqual(new Date('0100-01-01T00:00:00Z'))
})

test.each(['', '2026', '2026-00', '2026-13', '2026-1', '2026-01-01', ' 2026-01', '2026-01\n', '٢٠٢٦-01'])(
  '%j is not a month',
  (text) => expect(parseMonth(text)).toBeUndefined(),
)

test.each([
  ['2026-12-31T23:59:59.999Z', 'open', endSeconds - 1],
  ['2027-01-01T00:00:00Z', 'open', endSeconds],
  ['2027-01-01T00:59:59.999Z', 'open', endSeconds],
  ['2027-01-01T01:00:00Z', 'closed', endSeconds],
])('at %s, December is %s', (now, state, asOfSeconds) => {
  expect(presentMonth(december, new Date(now))).toEqual({
    ...{ month: '2026-12', state, from: Date.UTC(2026, 11) / 1000, to: endSeconds },
  })
  expect(asOf(december, new Date(now))).toBe(asOfSeconds)
})

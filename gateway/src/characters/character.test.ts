import { expect, test } from 'vitest'

import { createUsername, idOfPublic, mentionsIn, parseSpan, publicIdOf, spanWithin } from './character.ts'

test.each([
  ['0,3', 0, 3000],
  ['1,2', 1000, 2000],
  [' 1.5 , 3.25 ', 1500, 3250],
  ['0,3.05', 0, 3050],
  ['0,0.95', 0, 950],
  ['7,10', 7000, 10_000],
])('%s is a valid time span', (text, startMs, endMs) => {
  expect(parseSpan(text)).toEqual({ startMs, endMs })
})

test.each(['', '3', '1,1', '2,1', '-1,1', '0,3.06', '0,0.94', '0;2', '0,2,3', 'a,b', '0,1e1', '0,Infinity'])(
  '%j is not a valid time span',
  (text) => {
    expect(parseSpan(text)).toBeUndefined()
  },
)

test.each([
  [undefined, 5000, [0, 3000]],
  [undefined, 2000, [0, 2000]],
  [undefined, 960, [0, 960]],
  [undefined, 900, undefined],
  ['1,3', 3000, [1000, 3000]],
  ['1,3', 2960, [1000, 2960]],
  ['1,3', 2900, undefined],
  ['9,10', 5000, undefined],
])('the span %s of a video of %i ms', (text, durationMs, expected) => {
  const wanted = text === undefined ? undefined : parseSpan(text)
  const span = spanWithin(wanted, durationMs)
  expect(span && [span.startMs, span.endMs]).toEqual(expected)
})

test.each([
  ['@anna dances', [['anna']]],
  ['with @anna.', [['anna.', 'anna']]],
  ['with @anna.b...', [['anna.b...', 'anna.b..', 'anna.b.', 'anna.b']]],
  ['@Anna and (@bob_2), @anna', [['anna'], ['bob_2'], ['anna']]],
  ['和@anna在海边', [['anna']]],
  ["@anna's dog", [['anna']]],
  ['mail me@anna.com', []],
  ['@@anna @ @an', []],
  [`@${'x'.repeat(33)}`, []],
])('the mentions in %j', (text, expected) => {
  expect(mentionsIn(text)).toEqual(expected)
})

test('generated names are valid usernames', () => {
  for (let count = 0; count < 200; count += 1) {
    expect(createUsername()).toMatch(/^[a-z]+\.[a-z]+\d{4}$/)
    expect(createUsername()).toMatch(/^[a-z0-9_.]{3,32}$/)
  }
})

test('only public ids are parsed', () => {
  const id = '0198a1b2-0000-7000-8000-0123456789ab'
  expect(idOfPublic(publicIdOf(id))).toBe(id)
  for (const text of [id, 'char_', `char_${id}x`, `char_${id.toUpperCase()}`])
    expect(idOfPublic(text)).toBeUndefined()
})

import { expect, test } from 'vitest'

import { waitSecondsOf } from './read-status.ts'

const wait = (headers: Record<string, string>, query: Record<string, string> = {}) =>
  waitSecondsOf({ header: (name) => headers[name], query })

test('a preference and a parameter ask for the same, and the parameter wins', () => {
  expect(wait({})).toBe(0)
  expect(wait({ prefer: 'wait=7' })).toBe(7)
  expect(wait({ prefer: 'respond-async, WAIT = "7"; foo' })).toBe(7)
  expect(wait({ prefer: 'wait=7' }, { wait: '3' })).toBe(3)
  expect(wait({ prefer: 'await=7' })).toBe(0)
  expect(wait({ prefer: 'wait=soon' })).toBe(0)
})

test('nobody is held longer than a minute, and a poll helper not longer than ten seconds', () => {
  expect(wait({ prefer: 'wait=9999' })).toBe(60)
  expect(wait({ prefer: 'wait=60', 'x-stainless-poll-helper': 'true' })).toBe(10)
  expect(wait({ 'x-stainless-poll-helper': 'true' }, { wait: '5' })).toBe(5)
})

import { expect, test } from 'vitest'

import { waitOf } from './read-status.ts'

const wait = (headers: Record<string, string>, query: Record<string, string> = {}) =>
  waitOf({ header: (name) => headers[name], query })
const seconds = (...given: Parameters<typeof wait>) => wait(...given).seconds

test('the wait comes from a preference or a parameter, and the parameter takes precedence', () => {
  expect(seconds({})).toBe(0)
  expect(seconds({ prefer: 'wait=7' })).toBe(7)
  expect(seconds({ prefer: 'respond-async, WAIT = "7"; foo' })).toBe(7)
  expect(seconds({ prefer: 'wait=7' }, { wait: '3' })).toBe(3)
  expect(seconds({ prefer: 'await=7' })).toBe(0)
  expect(seconds({ prefer: 'wait=soon' })).toBe(0)
})

test('a wait is capped at one minute, and at ten seconds for a poll helper', () => {
  expect(seconds({ prefer: 'wait=9999' })).toBe(60)
  expect(seconds({ prefer: 'wait=60', 'x-stainless-poll-helper': 'true' })).toBe(10)
  expect(seconds({ 'x-stainless-poll-helper': 'true' }, { wait: '5' })).toBe(5)
})

test('a wait is for the final state unless the next change is requested', () => {
  expect(wait({ prefer: 'wait=7' }).until).toBe('final')
  for (const prefer of ['wait=7, until=change', 'until="change",wait=7', 'wait=7; Until=Change']) {
    expect(wait({ prefer })).toMatchObject({ seconds: 7, until: 'change' })
  }
  expect(wait({ prefer: 'wait=7, until=tomorrow' }).until).toBe('final')
  expect(wait({}, { wait: '7', until: 'change' }).until).toBe('change')
  expect(wait({ prefer: 'wait=7, until=change' }, { until: 'final' }).until).toBe('final')
})

test('only preferences that took effect are reported as applied', () => {
  expect(wait({ prefer: 'wait=7' }).applied).toBe('wait=7')
  expect(wait({ prefer: 'wait=99, until=change' }).applied).toBe('wait=60, until=change')
  expect(wait({ prefer: 'until=change' }, { wait: '7' }).applied).toBe('until=change')
  expect(wait({ prefer: 'until=change' }).applied).toBeUndefined()
  expect(wait({ prefer: 'wait=7' }, { wait: '3' }).applied).toBeUndefined()
  expect(wait({ prefer: 'respond-async' }).applied).toBeUndefined()
})

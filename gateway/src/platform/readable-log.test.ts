import { stripVTControlCharacters } from 'node:util'

import { expect, test } from 'vitest'

import { readableLine } from './readable-log.ts'

const time = Date.UTC(2026, 4, 1, 12, 30, 5, 7)
const line = (fields: object) =>
  stripVTControlCharacters(
    readableLine(JSON.stringify({ level: 30, time, role: 'api', version: '1.0.0', ...fields })),
  )

test('a line has the time, the level, the role, the event and the fields', () => {
  expect(line({ msg: 'request.completed', status: 200, path: '/v1/videos', model: 'two words' })).toBe(
    '12:30:05.007 INFO  api request.completed status=200 path=/v1/videos model="two words"\n',
  )
})

test('the frames of an error and of its cause are on lines of their own', () => {
  const cause = { type: 'Error', stack: '    at b (b.ts:2:1)' }
  const err = { type: 'TypeError', code: 'E1', stack: '    at a (a.ts:1:1)\n    at c (c.ts:3:1)', cause }
  expect(line({ level: 50, msg: 'failed', err }).split('\n')).toEqual([
    '12:30:05.007 ERROR api failed err={"type":"TypeError","code":"E1","cause":{"type":"Error"}}',
    '    at a (a.ts:1:1)',
    '    at c (c.ts:3:1)',
    '    at b (b.ts:2:1)',
    '',
  ])
})

// Escape sequences of 7 and 8 bits, a new line, a bell, a change of direction, an invisible character, a surrogate.
const hostile = '\u{1b}[2J\u{9b}31m\r\nFATAL api forged \u{7}\u{202e}\u{200b}\u{2028}\u{7f}\u{d800}'

const colors = new RegExp(String.raw`${String.fromCodePoint(0x1b)}\[\d+m`, 'g')

test.for([
  { msg: hostile },
  { msg: 'x', [hostile]: 1 },
  { msg: 'x', field: hostile },
  { msg: 'x', nested: { [hostile]: [hostile] } },
  { msg: 'x', role: hostile },
  { msg: 'x', err: { type: hostile, stack: hostile.replaceAll('\n', '') } },
])('characters that a terminal would obey are escaped: %#', (fields) => {
  const text = readableLine(JSON.stringify({ level: 30, time, role: 'api', ...fields }))
  const own = stripVTControlCharacters(text)
  // Colors are ours; they are the only sequences, and every line break is one of ours.
  expect(text.replaceAll(colors, '')).toBe(own)
  expect(own.trimEnd().replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  expect(own.split('\n').filter((each) => each.startsWith('FATAL'))).toEqual([])
  expect(own.toLowerCase()).toMatch(/\\u\{?0*1b|\\u001b/)
})

test('a line that is no JSON is shown escaped', () => {
  expect(readableLine('\u{1b}[2Jno')).toBe('\\u{1b}[2Jno\n')
})

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { findJsonError, notJson } from './json-error.ts'

test.each([
  ['{\n  "model": "vidB-2",\n  "prompt": A whale\n}', "unexpected 'A' at line 3, column 13."],
  ['{"a": 1,}', "unexpected '}' at line 1, column 9."],
  ['{"a": 1 "b": 2}', `unexpected '\\"' at line 1, column 9.`],
  ['{"a": 1} x', "unexpected 'x' at line 1, column 10."],
  ["{'a': 1}", `unexpected ''' at line 1, column 2.`],
  ['{"a": 01}', "unexpected '1' at line 1, column 8."],
  ['{"a": "two\nlines"}', String.raw`unexpected '\n' at line 1, column 11.`],
  ['{"a": "\\x"}', String.raw`unexpected '\\' at line 1, column 8.`],
  ['{"🐋": tru}', "unexpected 't' at line 1, column 7."],
  ['{"a": [1, 2}', "unexpected '}' at line 1, column 12."],
  ['{"model": "vidB-2",', 'it ends too early, at line 1, column 20.'],
  ['{"a": "', 'it ends too early, at line 1, column 8.'],
])('%s', (text, place) => {
  expect(notJson(text).message).toBe(`The body is not valid JSON: ${place}`)
})

test.each(['', ' \n'])('an empty body is called empty (%j)', (text) => {
  expect(notJson(text).message).toBe('The body is empty. Send a JSON object.')
})

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('an error is found exactly in what JSON.parse rejects', () => {
  const damaged = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '\\', '0', '-', 'e', ' ', '\n'))
    .map(([text, place, added]) => {
      const at = place % (text.length + 1)
      return text.slice(0, at) + added + text.slice(at + (place % 2))
    })
  fc.assert(
    fc.property(fc.oneof(fc.json(), damaged, fc.string()), (text) => {
      expect(findJsonError(text) === undefined).toBe(isJson(text))
    }),
    { numRuns: 2_000 },
  )
})

test('what precedes the place can be completed to valid JSON, and what it names cannot', () => {
  expect(findJsonError('[1, 2, x]')).toBe(7)
  expect(findJsonError('{"a": nul')).toBe(6)
})

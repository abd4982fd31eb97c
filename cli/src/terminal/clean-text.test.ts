import { expect, test } from 'vitest'

import { cleanText, removeControls, toJsonLine } from './clean-text.ts'

const hostile = 'a\u001B]52;c;ZXZpbA==\u0007b\u001B[2Jc\u009B2Jd\u007F\re\u001B[8mf'

test('a text cannot drive the terminal, in a table, in a message or in JSON', () => {
  const control = /(?![\t\n])\p{Cc}/u
  expect(cleanText(hostile)).not.toMatch(control)
  expect(removeControls(hostile)).not.toMatch(control)
  expect(removeControls(hostile, true).replace('\u001B[8m', '')).not.toMatch(control)
  expect(toJsonLine({ hostile })).not.toMatch(control)
  expect(JSON.parse(toJsonLine({ hostile }))).toEqual({ hostile })
})

test('our colors, tabs and lines stay', () => {
  const text = '\u001B[1;31mred\u001B[0m\tnext\nline'
  expect(removeControls(text, true)).toBe(text)
})

import { expect, test } from 'vitest'

import { escapeControls } from './safe-text.ts'

const escape = '\u001B'
const hostile = `a${escape}[2Jb${escape}]0;title\u0007c\u009B31md\u202Ee\rf${escape}[8m`
const control = /[\p{Cc}\u202A-\u202E]/u

test('no control character reaches a terminal, and JSON keeps its value', () => {
  expect(escapeControls(hostile)).not.toMatch(control)
  expect(escapeControls(hostile, true).replace(`${escape}[8m`, '')).not.toMatch(control)
  const json = escapeControls(JSON.stringify({ hostile }))
  expect(json).not.toMatch(control)
  expect(JSON.parse(json)).toEqual({ hostile })
})

test('our colours, tabs and lines stay', () => {
  const text = `${escape}[1mbold${escape}[22m\tand\nmore`
  expect(escapeControls(text, true)).toBe(text)
})

import { stripVTControlCharacters, styleText } from 'node:util'

import { expect, test } from 'vitest'

import { clipText, measureColumns, wrapText } from './columns.ts'

const red = (text: string) => styleText('red', text, { validateStream: false })

test.for<[string, number]>([
  ['plain', 5],
  ['鲸鱼 at sea', 11],
  ['クジラ', 6],
  ['고래', 4],
  ['🐋', 2],
  ['👩‍🚀', 2],
  ['é', 1],
  ['e\u0301', 1],
  ['“…” – ✓', 7],
  [red('red'), 3],
  ['', 0],
])('%s takes %i columns', ([text, columns]) => {
  expect(measureColumns(text)).toBe(columns)
})

test('a text is cut to its columns, in the middle of no wide character, and its color ends', () => {
  expect(clipText('a long line', 6)).toBe('a lon…')
  expect(clipText('鲸鱼鲸鱼', 6)).toBe('鲸鱼…')
  expect(clipText('fits', 4)).toBe('fits')
  expect(clipText('no space before it', 4)).toBe('no…')
  const clipped = clipText(`${red('a long')} line`, 4)
  expect(clipped).toBe(red('a l…').replace('…', '').replace('\u001B[39m', '…\u001B[39m'))
})

test('a line is wrapped between words, and a word that is longer than a line is broken', () => {
  expect(wrapText('  one two three four', 10, '    ')).toEqual(['  one two', '    three', '    four'])
  expect(wrapText('short', 10)).toEqual(['short'])
  expect(wrapText(`see ${'x'.repeat(12)} there`, 10, '  ')).toEqual([
    'see',
    '  xxxxxxxx',
    '  xxxx',
    '  there',
  ])
  for (const line of wrapText(`${red('鲸'.repeat(30))} and ${'long '.repeat(30)}`, 20, ' '))
    expect(measureColumns(stripVTControlCharacters(line))).toBeLessThanOrEqual(20)
})

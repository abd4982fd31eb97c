import { array, assert, constantFrom, oneof, property, string, type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'

import { pauseAfter, splitClauses } from './clauses.ts'

const anyText: Arbitrary<string> = oneof(
  string({ unit: 'grapheme', maxLength: 600 }),
  string({ unit: 'binary', maxLength: 600 }),
  array(
    oneof(
      constantFrom(
        ' ',
        '. ',
        ', ',
        '\n',
        '…',
        '—',
        '?!',
        '"',
        ')',
        '。',
        '，',
        '😀',
        '👩‍👩‍👧',
        'Dr. ',
        '3.14',
        '5:30',
      ),
      constantFrom(
        'the',
        'harbour',
        "don't",
        '你好世界',
        'สวัสดีชาวโลก',
        'x'.repeat(90),
        'y'.repeat(700),
        '漢'.repeat(300),
      ),
      string({ unit: 'grapheme', maxLength: 12 }),
    ),
    { maxLength: 120 },
  ).map((parts) => parts.join('')),
)

function words(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== '')
}

test('no word of any text is lost, doubled or moved', () => {
  assert(
    property(anyText, (text) => {
      expect(words(splitClauses(text).join(''))).toEqual(words(text))
    }),
    { numRuns: 500 },
  )
})

test('no clause is too long to be spoken at once, none is empty, and no character is cut', () => {
  assert(
    property(anyText, (text) => {
      const wellFormed = text.toWellFormed()
      for (const clause of splitClauses(wellFormed)) {
        expect(clause.trim()).not.toBe('')
        expect(clause.isWellFormed()).toBe(true)
        expect(clause.length).toBeLessThanOrEqual(220)
      }
    }),
    { numRuns: 500 },
  )
})

test('a word is only cut where it is longer than a clause', () => {
  const whole = array(string({ unit: constantFrom('a', 'b', 'c', 'd'), minLength: 1, maxLength: 60 }), {
    maxLength: 60,
  })
  assert(
    property(whole, (list) => {
      expect(splitClauses(list.join(' ')).flatMap(words)).toEqual(list)
    }),
  )
})

const sentence = 'Every later sentence follows while the listener already hears the start of it, and so on. '

test.each([
  ['sentences', sentence.repeat(40)],
  ['no punctuation', 'and then we went home '.repeat(150)],
  ['no gaps', '今天天气很好我们去公园散步然后回家吃饭'.repeat(100)],
  ['lines', 'A line of a poem without an end\n'.repeat(100)],
])('the first clause of a long text is short: %s', (_name, text) => {
  const clauses = splitClauses(text)
  expect(clauses[0]!.trim().length).toBeLessThanOrEqual(40)
  expect(clauses[1]!.trim().length).toBeLessThanOrEqual(80)
})

test('cuts are made where one would breathe', () => {
  expect(splitClauses(`Good morning, Dr. Smith. ${sentence}${sentence}`)).toEqual([
    'Good morning, Dr. Smith. ',
    'Every later sentence follows while the listener already hears the start of it, ',
    `and so on. ${sentence.trim()}`,
  ])
})

test('a pause is as long as what ends the clause asks for', () => {
  const pauses = ['A heading\n', 'It ended. ', 'He said “no.” ', 'First, ', 'and then '].map(pauseAfter)
  expect(pauses.toSorted((one, other) => other - one)).toEqual(pauses)
  expect(new Set(pauses).size).toBe(4)
})

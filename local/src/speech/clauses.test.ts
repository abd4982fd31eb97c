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
        'and',
        'before',
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

test('no word of any text is lost, duplicated or moved', () => {
  assert(
    property(anyText, (text) => {
      expect(words(splitClauses(text).join(''))).toEqual(words(text))
    }),
    { numRuns: 500 },
  )
})

test('no clause is too long or empty, and no character is cut', () => {
  assert(
    property(anyText, (text) => {
      const wellFormed = text.toWellFormed()
      for (const clause of splitClauses(wellFormed)) {
        expect(clause.trim()).not.toBe('')
        expect(clause.isWellFormed()).toBe(true)
        expect(clause.length).toBeLessThanOrEqual(320)
      }
    }),
    { numRuns: 500 },
  )
})

test('a word is cut only if it is longer than a clause', () => {
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

test('the first clause of a long text is short if the text allows it', () => {
  const clauses = splitClauses(sentence.repeat(40))
  expect(clauses[0]!.trim().length).toBeLessThanOrEqual(100)
  expect(clauses[1]!.trim().length).toBeLessThanOrEqual(100)
  expect(splitClauses('A line of a poem without an end\n'.repeat(100))[0]!.trim().length).toBe(31)
})

test.each([
  'The harbour was quiet before first light and only the gulls were awake to see the boats come in.',
  'We have never seen such a large number of migrating birds above the northern part of this island, she said.',
  'Please remember to bring the old wooden ladder back to the workshop behind the railway station today.',
])('no phrase is cut: %s', (text) => {
  for (const clause of splitClauses(`${text} ${text}`).slice(0, -1)) expect(clause).toMatch(/[.,] $/u)
})

test('a phrase that is too long is cut before a conjunction or preposition', () => {
  const clauses = splitClauses('and then we all went home to eat '.repeat(60))
  expect(clauses.length).toBeGreaterThan(5)
  for (const clause of clauses.slice(1)) expect(clause).toMatch(/^(?:and|to) /u)
})

test('a text is cut at sentence ends and punctuation', () => {
  expect(splitClauses(`Good morning, Dr. Smith. ${sentence}${sentence}`)).toEqual([
    'Good morning, Dr. Smith. ',
    sentence,
    sentence.trim(),
  ])
})

test('the end of a clause determines the length of the pause', () => {
  const pauses = ['A heading\n', 'It ended. ', 'He said “no.” ', 'First, ', 'and then '].map(pauseAfter)
  expect(pauses.toSorted((one, other) => other - one)).toEqual(pauses)
  expect(new Set(pauses).size).toBe(4)
})

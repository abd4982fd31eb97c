import fc from 'fast-check'
import { expect, test } from 'vitest'

import { createReplyText } from './reply-text.ts'

/** Feeds a text that grows to each of these lengths. */
function feed(text: string, stops: string[], lengths: number[]): { out: string; isStopped: boolean } {
  const reply = createReplyText(stops)
  let out = ''
  for (const length of lengths.toSorted((a, b) => a - b)) out += reply.add(text.slice(0, length))
  return { out: out + reply.end(text), isStopped: reply.isStopped() }
}

test('the output is the text up to the first stop, trimmed, independent of how the text grows', () => {
  const texts = fc
    .array(fc.constantFrom('a', 'b', ' ', '\n', 'END', 'EN', '<|', '<|user|>'))
    .map((all) => all.join(''))
  fc.assert(
    fc.property(texts, fc.array(fc.nat(60)), (text, lengths) => {
      const [before] = text.split(/END|<\|user\|>/u)
      const expected = { out: before!.trim(), isStopped: before !== text }
      expect(feed(text, ['END'], lengths)).toEqual(expected)
    }),
  )
})

test('an incomplete character is held back until it is complete', () => {
  const reply = createReplyText([])
  expect(reply.add('Grüezi \uFFFD')).toBe('Grüezi')
  expect(reply.add('Grüezi \uFFFD\uFFFD')).toBe('')
  expect(reply.add('Grüezi 😀')).toBe(' 😀')
  expect(reply.end('Grüezi 😀!\uFFFD')).toBe('!')
})

import { expect, test } from 'vitest'

import { captionText, escapeMarkup } from './caption.ts'

test('a caption is one line of visible text', () => {
  expect(captionText(' a\u0000 whale\n\n at \u202Esea ')).toBe('a whale at sea')
})

test('a long prompt is truncated between words', () => {
  const text = captionText('lighthouse '.repeat(40))
  expect(text.length).toBeLessThanOrEqual(160)
  expect(text.endsWith('lighthouse…')).toBe(true)
})

test('a long prompt without spaces is truncated between characters', () => {
  const text = captionText('🐳'.repeat(300))
  expect(Array.from(text)).toHaveLength(160)
  expect(text.isWellFormed()).toBe(true)
})

test('truncation does not split an emoji sequence', () => {
  expect(captionText('a 👨‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 and ❤️')).toBe('a 👨‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 and ❤️')
  expect(captionText('👨‍👩‍👧'.repeat(300))).toBe(`${'👨‍👩‍👧'.repeat(159)}…`)
})

test('joiners stay, direction characters are removed', () => {
  expect(captionText('می\u200Cخواهم \u202Eabc')).toBe('می\u200Cخواهم abc')
})

test('markup in a prompt is escaped', () => {
  expect(escapeMarkup('<b>&</b>')).toBe('&lt;b&gt;&amp;&lt;/b&gt;')
})

test('a prompt of only joiners has no caption', () => {
  expect(captionText('\u200d \ufe0f')).toBe('')
})

import { expect, test } from 'vitest'

import { captionText, escapeMarkup } from './caption.ts'

test('a caption is one line of visible text', () => {
  expect(captionText(' a\u0000 whale\n\n at \u202Esea ')).toBe('a whale at sea')
})

test('a long prompt is cut between words', () => {
  const text = captionText('lighthouse '.repeat(40))
  expect(text.length).toBeLessThanOrEqual(160)
  expect(text.endsWith('lighthouse…')).toBe(true)
})

test('a long prompt without spaces is cut anyway, never inside a character', () => {
  const text = captionText('🐳'.repeat(300))
  expect(Array.from(text)).toHaveLength(160)
  expect(text.isWellFormed()).toBe(true)
})

test('an emoji made of several characters stays one, even where the text is cut', () => {
  expect(captionText('a 👨‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 and ❤️')).toBe('a 👨‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 and ❤️')
  expect(captionText('👨‍👩‍👧'.repeat(300))).toBe(`${'👨‍👩‍👧'.repeat(159)}…`)
})

test('joiners that a script is spelt with stay, marks of direction go', () => {
  expect(captionText('می\u200Cخواهم \u202Eabc')).toBe('می\u200Cخواهم abc')
})

test('markup in a prompt is shown, not obeyed', () => {
  expect(escapeMarkup('<b>&</b>')).toBe('&lt;b&gt;&amp;&lt;/b&gt;')
})

test('a prompt of nothing but joiners has no caption', () => {
  expect(captionText('\u200d \ufe0f')).toBe('')
})

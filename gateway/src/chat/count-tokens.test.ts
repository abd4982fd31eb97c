import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, expect, test } from 'vitest'

import { createTokenCounter } from './count-tokens.ts'
import { slicesOf } from './token-slices.ts'

const tokens = createTokenCounter()
afterAll(() => tokens.close())

const prose =
  'It was a bright cold day in April, and the clocks were striking 13; “naïve” 日本語 😀😀. '.repeat(300)

test('counting in slices gives nearly the same number as counting the whole text', async () => {
  expect(await tokens.count(['Hello', ' there'])).toBe(2)
  const [sliced, whole] = [await tokens.count([prose]), countTokens(prose)]
  expect(Math.abs(sliced - whole) / whole).toBeLessThan(0.005)
})

test('special tokens in a text are counted as text', async () => {
  expect(await tokens.count(['<|endoftext|>'])).toBe(7)
})

test('counting a long text stops soon after the limit', async () => {
  expect(await tokens.count(['a'.repeat(4_000_000)], 1_000)).toBeLessThan(1_100)
})

test('slices are short, do not split characters, and join to the whole text', () => {
  for (const text of [prose, 'x'.repeat(5_000), `a${'😀'.repeat(2_000)}`, '']) {
    const slices = [...slicesOf(text)]
    expect(slices.join('')).toBe(text)
    for (const slice of slices) {
      expect(slice.length).toBeLessThanOrEqual(512)
      expect(slice.isWellFormed()).toBe(true)
    }
  }
})

test('a closed counter starts again on the next count', async () => {
  await tokens.close()
  expect(await tokens.count(['Hello'])).toBe(1)
})

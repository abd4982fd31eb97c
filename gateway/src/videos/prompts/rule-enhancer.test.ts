import fc from 'fast-check'
import { expect, test } from 'vitest'

import { isMostlyLatin, ruleEnhancer } from './rule-enhancer.ts'

const enhance = (prompt: string) => ruleEnhancer.enhance(prompt, AbortSignal.timeout(120_000))

test('light, lens and motion that fit the scene are added', async () => {
  expect(await enhance('A whale leaps at sunset')).toBe(
    'A whale leaps at sunset. Warm low sun with long shadows, 35 mm lens with a natural perspective, a slow, steady push in.',
  )
  expect(await enhance('A woman running through the rainy city!')).toBe(
    'A woman running through the rainy city! Muted light from an overcast sky, 85 mm lens with a softly blurred background, the camera tracks smoothly alongside.',
  )
})

test('an aspect that the prompt mentions is not added', async () => {
  const complete = 'A lighthouse, neon light, 50 mm lens, the camera pans left'
  expect(await enhance(complete)).toBe(complete)
  expect(await enhance('A fox, macro')).not.toMatch(/mm lens/)
})

test('a prompt in another script cannot be enhanced and stays unchanged', async () => {
  for (const prompt of ['一只鲸鱼在日落时跃出水面', 'Кит на закате', '鲸鱼 whale 在日落时跃出水面海洋']) {
    expect(ruleEnhancer.canEnhance(prompt)).toBe(false)
    expect(await enhance(prompt)).toBe(prompt)
  }
  expect(ruleEnhancer.canEnhance('Une baleine à la tombée de la nuit 🐋')).toBe(true)
  expect(isMostlyLatin('42 🐋')).toBe(true)
})

test('the result starts with the prompt and is deterministic', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (prompt) => {
      const enhanced = await enhance(prompt)
      expect(enhanced.startsWith(prompt.trimEnd().replace(/[,;:\s]+$/, ''))).toBe(true)
      expect(await enhance(prompt)).toBe(enhanced)
    }),
  )
})

test('names of characters stay unchanged', async () => {
  expect(await enhance('@mira_01 and @otto dance')).toContain('@mira_01 and @otto dance. ')
})

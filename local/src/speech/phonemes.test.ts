import { tmpdir } from 'node:os'

import { beforeAll, expect, test } from 'vitest'

import { findFfmpeg } from '../ffmpeg/sandbox.ts'
import { findEspeak, type EspeakTool } from './espeak.ts'
import { partsOf, tokensOf } from './phoneme-tokens.ts'
import { phonemesOf } from './phonemes.ts'
import { spokenText } from './spoken-text.ts'

let espeak: EspeakTool

beforeAll(async () => {
  const found = await findEspeak('espeak-ng', await findFfmpeg({ ffmpegPath: 'ffmpeg' }), tmpdir())
  if (found === undefined) throw new Error('espeak-ng was not found: apt-get install espeak-ng')
  espeak = found
})

async function phonemes(text: string): Promise<string> {
  return await phonemesOf(espeak, 'en-us', spokenText(text), new AbortController().signal)
}

test('punctuation stays in place, and inside numbers it is read', async () => {
  expect(await phonemes('Dr. Lee, at 5:30 "sharp" (he said) — no? Yes!')).toMatch(
    /^dˈɑːktɚ \S+, æt fˈaɪv θˈɜːɾi "ʃˈɑːɹp" \(hiː sˈɛd\) — nˈoʊ\? jˈɛs!$/u,
  )
})

test.each(['', '...', '?! — "()"', '😀 👩‍👩‍👧', '\u0000\u0001'])('%j has no sound', async (text) => {
  expect(await phonemes(text)).toBe('')
})

test('a text cannot control espeak-ng', async () => {
  // espeak-ng reads double brackets as phonemes, and the control character as a change of voice.
  expect(await phonemes('[[h@l@U]]')).not.toBe('hələʊ')
  expect(await phonemes('\u00015Pone')).toBe(await phonemes('5Pone'))
  expect(await phonemes('--version')).toBe(await phonemes('version'))
})

test('every phoneme of English has a token', async () => {
  const text =
    'The quick brown fox, joyous, sings thirty hours of pleasure; beige vision, church, year, boy, cow.'
  const spoken = await phonemes(text)
  expect(tokensOf(spoken)).toHaveLength([...spoken.replaceAll(/\u0329/gu, '')].length)
})

test('tokens that are too long for the model are cut between words', () => {
  const tokens = tokensOf('həlˈoʊ '.repeat(200))
  const parts = partsOf(tokens)
  expect(parts.flat()).toEqual(tokens)
  expect(parts.every((part) => part.length <= 510 && part.at(-1) === tokensOf(' ')[0])).toBe(true)
})

test('tokens that are too long for the model are cut after punctuation if there is any', () => {
  const parts = partsOf(tokensOf('həlˈoʊ həlˈoʊ həlˈoʊ həlˈoʊ, '.repeat(30)))
  expect(parts.length).toBeGreaterThan(1)
  for (const part of parts.slice(0, -1)) expect(part.slice(-2)).toEqual(tokensOf(', '))
})

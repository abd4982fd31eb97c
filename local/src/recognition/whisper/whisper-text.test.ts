import path from 'node:path'

import fc from 'fast-check'
import { expect, test } from 'vitest'

import { modelDirectory } from '../../../test/kit/model-directory.ts'
import { readVocabulary, textOf } from '../moonshine.ts'
import { readWhisperText } from './whisper-text.ts'
import { languageOf, languageToken } from './whisper-tokens.ts'
import { writtenWords } from './written-words.ts'

const directory = modelDirectory('whisper-tiny', 'moonshine-tiny')
const text = await readWhisperText(path.join(directory.find('whisper-tiny')!, 'tokenizer.json'))

test('words are encoded as the tokens of the model', () => {
  expect(text.encode(' Hello world')).toEqual([2425, 1002])
})

test('decoding the tokens of any text returns the text', () => {
  const strings = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(' Ça va?', '你好，世界。', " it's 12.5 €"),
  )
  fc.assert(
    fc.property(strings, (written) => text.decode(text.encode(written)) === written),
    { numRuns: 200 },
  )
})

test('words retain their punctuation and all tokens', () => {
  const tokens = text.encode(' ¿Qué? Well, "it\'s" 3.5% (or so).')
  const words = writtenWords(text, tokens, 'en')
  expect(words.map(({ word }) => word)).toEqual(['¿Qué?', 'Well,', '"it\'s"', '3.5%', '(or', 'so).'])
  expect(words.flatMap((word) => word.tokens)).toEqual(tokens)
  expect(
    writtenWords(text, text.encode('你好，世界'), 'zh')
      .map(({ word }) => word)
      .join(''),
  ).toBe('你好，世界')
})

test('languages are identified by their codes', () => {
  expect(languageToken('en')).toBe(50_259)
  expect(languageToken('su')).toBe(50_357)
  expect(languageOf(50_356)).toBe('jv')
  expect(languageToken('xx')).toBeUndefined()
})

test('the vocabulary of Moonshine has words and bytes', async () => {
  const vocabulary = await readVocabulary(path.join(directory.find('moonshine-tiny')!, 'llama-tokenizer.js'))
  expect(vocabulary).toHaveLength(32_000)
  const ids = ['▁Hello', ',', '▁world', '<0xF0>', '<0x9F>', '<0x98>', '<0x80>'].map((each) =>
    vocabulary.indexOf(each),
  )
  expect(textOf(vocabulary, ids)).toBe('Hello, world😀')
})

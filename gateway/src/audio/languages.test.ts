import { expect, test } from 'vitest'

import { languageName, readLanguage } from './languages.ts'

test.each([
  ['en', 'en'],
  ['EN', 'en'],
  ['en-US', 'en'],
  ['zh_Hant_TW', 'zh'],
  ['eng', 'en'],
  ['ger', 'de'],
  ['deu', 'de'],
  ['tgl', 'tl'],
  ['nb', 'no'],
  // Known languages without a two-letter code.
  ['haw', 'haw'],
  ['yue', 'yue'],
])('%s is read as %s', (tag, code) => {
  expect(readLanguage(tag)).toBe(code)
})

test.each(['xx', 'zzz', 'e', 'english', '12', ''])('%s is refused as a language', (tag) => {
  expect(() => readLanguage(tag)).toThrow(
    expect.objectContaining({ code: 'invalid_parameter', param: 'language' }) as Error,
  )
})

test.each([
  ['de', 'german'],
  ['deu', 'german'],
  ['German', 'german'],
  ['pt-BR', 'portuguese'],
  ['tl', 'tagalog'],
  ['mi', 'maori'],
  ['haitian creole', 'haitian creole'],
])('the name of %s is %s', (tag, name) => {
  expect(languageName(tag)).toBe(name)
})

import { expect, test } from 'vitest'

import { languageName } from '../../../gateway/src/audio/languages.ts'
import { languageCode } from './language-code.ts'

const common =
  'en zh de es ru ko fr ja pt tr pl nl ar sv it id hi fi vi he uk el cs ro da hu ta no th ur hr bg lt la tl yi'

test.each(common.split(' '))('the name that the API has for %s leads back to it', (code) => {
  expect(languageCode(languageName(code))).toBe(code)
})

test('a name without a code of two letters, and none, have no code', () => {
  expect(languageCode('unknown')).toBeUndefined()
  expect(languageCode('cantonese')).toBeUndefined()
  expect(languageCode(undefined)).toBeUndefined()
})

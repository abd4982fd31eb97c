/**
 * Texts of one part of the console, in one file per language. English defines which texts there are, and their types:
 * a text is a string, or a function of what it names.
 */
import { use } from 'react'

import { language, type Language } from './language.ts'

export interface Texts<Dictionary> {
  load: () => Promise<Dictionary>
}

export const defineTexts = <Dictionary>(
  files: Record<Language, () => Promise<{ texts: Dictionary }>>,
): Texts<Dictionary> => {
  let loading: Promise<Dictionary> | undefined
  return { load: () => (loading ??= files[language]().then((file) => file.texts)) }
}

/** Suspends until the texts are loaded. */
export const useTexts = <Dictionary>(texts: Texts<Dictionary>): Dictionary => use(texts.load())

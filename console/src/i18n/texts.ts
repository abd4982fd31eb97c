/**
 * Texts of one part of the console, in one file per language. English defines which texts there are, and their types:
 * a text is a string, or a function of what it names.
 */
import { use } from 'react'

import { language, type Language } from './language.ts'

export interface Texts<Dictionary> {
  load: () => Promise<Dictionary>
}

/**
 * The texts are loaded together with the part that they belong to. If they were loaded only when they are rendered, what is
 * shown already would disappear until they are there.
 */
export const defineTexts = <Dictionary>(
  files: Record<Language, () => Promise<{ texts: Dictionary }>>,
): Texts<Dictionary> => {
  const loading = files[language]().then((file) => file.texts)
  // Who renders them gets the failure.
  loading.catch(() => {})
  return { load: () => loading }
}

/** Suspends until the texts are loaded. */
export const useTexts = <Dictionary>(texts: Texts<Dictionary>): Dictionary => use(texts.load())

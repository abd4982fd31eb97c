/** Languages as callers and providers name them: codes of two or three letters, with or without a region, or names. */
import { ApiError } from '@kinora/contract/errors'

const english = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

/** Where recognition calls a language otherwise than the registry of languages does. */
const recognised: Partial<Record<string, string>> = { fil: 'tl', nb: 'no' }
const names: Partial<Record<string, string>> = { tl: 'tagalog' }

/** The shortest code of the language that a tag such as `eng` or `pt-BR` begins with; undefined for none. */
const codeOf = (tag: string): string | undefined => {
  const [first = ''] = tag.trim().toLowerCase().split(/[-_]/, 1)
  if (!/^[a-z]{2,3}$/.test(first)) return undefined
  const [canonical = first] = Intl.getCanonicalLocales(first)
  const [code = first] = canonical.split('-', 1)
  return english.of(code) === undefined ? undefined : (recognised[code] ?? code)
}

/** The English name in small letters, of a code or of a name; what is neither is called as it was. */
export const languageName = (tag: string): string => {
  const code = codeOf(tag)
  const name = code === undefined ? tag.trim() : (names[code] ?? english.of(code) ?? code)
  // Names are plain words: a client compares them.
  return name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
}

/** The code a caller means by `language`. */
export const readLanguage = (tag: string): string => {
  const code = codeOf(tag)
  if (code !== undefined) return code
  throw new ApiError('invalid_parameter', {
    param: 'language',
    message: `'language' must be an ISO 639-1 code such as en or de (got '${tag.slice(0, 40)}').`,
  })
}

/** Parses languages given as ISO 639 codes of two or three letters, with or without a region, or as names. */
import { ApiError } from '@kinora/contract/errors'

const english = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

/** Codes that speech recognition models replace with another one. */
const recognitionCodes: Partial<Record<string, string>> = { fil: 'tl', nb: 'no' }
const names: Partial<Record<string, string>> = { tl: 'tagalog' }

/** The shortest code for a tag such as `eng` or `pt-BR`; undefined for an unknown language. */
const codeOf = (tag: string): string | undefined => {
  const [first = ''] = tag.trim().toLowerCase().split(/[-_]/, 1)
  if (!/^[a-z]{2,3}$/.test(first)) return undefined
  const [canonical = first] = Intl.getCanonicalLocales(first)
  const [code = first] = canonical.split('-', 1)
  return english.of(code) === undefined ? undefined : (recognitionCodes[code] ?? code)
}

/** The English name in lower case, for a code or a name. Any other text is returned in lower case. */
export const languageName = (tag: string): string => {
  const code = codeOf(tag)
  const name = code === undefined ? tag.trim() : (names[code] ?? english.of(code) ?? code)
  // Clients compare names, so accents are removed.
  return name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
}

/** Reads the `language` parameter of a request as a code. */
export const readLanguage = (tag: string): string => {
  const code = codeOf(tag)
  if (code !== undefined) return code
  throw new ApiError('invalid_parameter', {
    param: 'language',
    message: `'language' must be an ISO 639-1 code such as en or de (got '${tag.slice(0, 40)}').`,
  })
}

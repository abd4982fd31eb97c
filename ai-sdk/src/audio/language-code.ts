const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

const plain = (name: string) => name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()

const letters = 'abcdefghijklmnopqrstuvwxyz'.split('')

let codes: Map<string, string> | undefined

const readCodes = (): Map<string, string> =>
  new Map([
    ...letters.flatMap((first) =>
      letters.flatMap((second) => {
        const code = `${first}${second}`
        // Retired codes, such as `iw`, are other names of current ones.
        if (Intl.getCanonicalLocales(code)[0] !== code) return []
        const name = names.of(code)
        return name === undefined ? [] : [[plain(name), code] as const]
      }),
    ),
    ['tagalog', 'tl'],
  ])

/** The ISO 639-1 code of a language that the API names in English; undefined if there is none. */
export const languageCode = (name: string | undefined): string | undefined => {
  if (name === undefined) return undefined
  codes ??= readCodes()
  return codes.get(plain(name))
}

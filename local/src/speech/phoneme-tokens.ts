/** The symbols of Kokoro by their token number. Unused numbers are left out. */
const numbered: [first: number, symbols: string][] = [
  [1, ';:,.!?'],
  [9, '—…"()“” \u0303ʣʥʦʨᵝꭧAI'],
  [31, 'O'],
  [33, 'Q'],
  [35, 'ST'],
  [39, 'W'],
  [41, 'Yᵊabcdef'],
  [50, 'hijklmnopqrstuvwxyzɑɐɒæ'],
  [75, 'βɔɕç'],
  [80, 'ɖðʤə'],
  [85, 'ɚɛɜ'],
  [90, 'ɟ'],
  [92, 'ɡ'],
  [99, 'ɥ'],
  [101, 'ɨɪʝ'],
  [110, 'ɯɰŋɳɲɴø'],
  [118, 'ɸθœ'],
  [123, 'ɹ'],
  [125, 'ɾɻ'],
  [128, 'ʁɽʂʃʈʧ'],
  [135, 'ʊʋ'],
  [138, 'ʌɣɤ'],
  [142, 'χʎ'],
  [147, 'ʒʔ'],
  [156, 'ˈˌː'],
  [162, 'ʰ'],
  [164, 'ʲ'],
  [169, '↓'],
  [171, '→↗↘'],
  [177, 'ᵻ'],
]

const tokens = new Map(
  numbered.flatMap(([first, symbols]) => [...symbols].map((symbol, place) => [symbol, first + place])),
)

/** Symbols of espeak-ng that Kokoro lacks, with the nearest symbol of Kokoro. */
const near = new Map([
  ['g', 'ɡ'],
  ['ɫ', 'l'],
  ['ɬ', 'l'],
  ['ʉ', 'u'],
  ['ɵ', 'o'],
  ['ħ', 'h'],
  ['ɦ', 'h'],
  ['ʕ', 'ʔ'],
  ['ʀ', 'ʁ'],
  ['ɭ', 'l'],
  ['ɘ', 'ə'],
  ['ɞ', 'ɜ'],
])

/** The most tokens that Kokoro accepts, without the edge tokens. */
const mostTokens = 510
const gap = tokens.get(' ')!
const signs = new Set(Array.from(';:,.!?—…', (sign) => tokens.get(sign)!))

/** Symbols without a token, such as fine diacritics, are dropped. */
export function tokensOf(phonemes: string): number[] {
  return [...phonemes.normalize('NFC')].flatMap((symbol) => {
    const known = tokens.get(symbol)
    if (known !== undefined) return [known]
    return [...symbol.normalize('NFD')].flatMap((part) => tokens.get(near.get(part) ?? part) ?? [])
  })
}

/** Splits tokens into parts that Kokoro accepts: after punctuation in the second half of a part, or else between words. */
export function partsOf(all: number[]): number[][] {
  const parts: number[][] = []
  let from = 0
  while (all.length - from > mostTokens) {
    const within = all.slice(from, from + mostTokens)
    const afterSign =
      within.findLastIndex((token, place) => token === gap && signs.has(within[place - 1]!)) + 1
    const afterWord = within.lastIndexOf(gap) + 1
    const cut = from + (afterSign >= mostTokens / 2 ? afterSign : afterWord > 0 ? afterWord : mostTokens)
    parts.push(all.slice(from, cut))
    from = cut
  }
  if (from < all.length) parts.push(all.slice(from))
  return parts
}

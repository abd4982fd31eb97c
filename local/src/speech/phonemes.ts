import { isAbbreviation } from './clauses.ts'
import { phonemesFrom, type EspeakTool } from './espeak.ts'
import { hasWords } from './spoken-text.ts'

/** Punctuation at the edge of a word. espeak-ng handles punctuation inside words, as in 5:30 or 3.14. */
const signs =
  /(?<=^|\s)["“«¿¡(]+|[;:,.!?…"”»)]+(?=[;:,.!?…"”»)]*(?:\s|$))|\s[-–—]+(?=\s)|[—。！？，、；：]+/gu

/** A heading or an item of a list ends like a sentence. */
const lineEnd = /(?<=[\p{L}\p{N}])\n/gu

const spokenSigns = new Map([
  ['«', '“'],
  ['»', '”'],
  ['¿', ''],
  ['¡', ''],
  ['-', '—'],
  ['–', '—'],
  ['。', '.'],
  ['！', '!'],
  ['？', '?'],
  ['，', ','],
  ['、', ','],
  ['；', ';'],
  ['：', ':'],
])

const atOnce = 4

/** espeak-ng drops punctuation, which Kokoro needs for its pauses. This function restores it. */
export async function phonemesOf(
  espeak: EspeakTool,
  language: string,
  text: string,
  signal: AbortSignal,
): Promise<string> {
  const sections = sectionsOf(text.replaceAll(lineEnd, '.\n'))
  const phonemes: string[] = []
  for (let from = 0; from < sections.length; from += atOnce) {
    const some = sections.slice(from, from + atOnce)
    phonemes.push(
      ...(await Promise.all(
        some.map(async ({ words }) =>
          hasWords(words) ? await phonemesFrom(espeak, language, words, signal) : '',
        ),
      )),
    )
  }
  if (phonemes.every((part) => part === '')) return ''
  return sections
    .map(
      ({ words, sign }, place) => `${gapAt(/^\s/u, words)}${phonemes[place]}${gapAt(/\s$/u, words)}${sign}`,
    )
    .join('')
    .replaceAll(/ +/gu, ' ')
    .trim()
}

interface Section {
  words: string
  /** The punctuation after the words. */
  sign: string
}

function sectionsOf(text: string): Section[] {
  const sections: Section[] = []
  let from = 0
  for (const match of text.matchAll(signs)) {
    const end = match.index + match[0].length
    if (match[0] === '.' && isAbbreviation(text.slice(0, end)) && end < text.trimEnd().length) continue
    const sign = [...match[0]].map((part) => spokenSigns.get(part) ?? part).join('')
    sections.push({ words: text.slice(from, match.index), sign })
    from = end
  }
  return [...sections, { words: text.slice(from), sign: '' }]
}

function gapAt(edge: RegExp, words: string): string {
  return edge.test(words) ? ' ' : ''
}

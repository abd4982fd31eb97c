/**
 * Texts in several scripts. The voices speak English. espeak-ng speaks runs in other scripts, in a language that uses the
 * script. Text that no voice can speak is rejected beforehand, because espeak-ng would spell it out as "Chinese letter"
 * or by its code.
 */

/** A part of a text for one voice. */
export interface ScriptRun {
  text: string
  /** A language of espeak-ng, or undefined for the requested voice. */
  language: string | undefined
}

/** The runs of a text, or the reason why it cannot be spoken. */
export type SplitText = { runs: ScriptRun[] } | { refusal: string }

interface Script {
  name: string
  letter: RegExp
  /** The first language whose alphabet contains all letters of the text is used. Empty if espeak-ng has no usable one. */
  languages: [language: string | undefined, alphabet: RegExp][]
}

const slavic = 'абвгдежзиклмнопрстуфхцчш'

/** With the letters that espeak-ng 1.51 reads as part of a word, found by tests. */
const scripts: Script[] = [
  script('Latin', [undefined, /[A-Za-z\u00AA\u00BA\u00C0-\u017F]/u]),
  script(
    'Cyrillic',
    ['ru', /[а-яё]/iu],
    ['uk', new RegExp(`[${slavic}ґєіїйщьюяʼ]`, 'iu')],
    ['be', new RegExp(`[${slavic}ёійўыьэюя]`, 'iu')],
    ['sr', new RegExp(`[${slavic}ђјљњћџ]`, 'iu')],
    ['mk', new RegExp(`[${slavic}ѓѕјљњќџ]`, 'iu')],
    ['ky', /[а-яёңөү]/iu],
    ['tt', /[а-яёәөүҗңһ]/iu],
    ['kk', /[а-яёәғқңөұүһі]/iu],
  ),
  script('Greek', ['el', /[Ά-ώ]/u]),
  script('Hebrew', ['he', /[א-ת]/u]),
  script(
    'Arabic',
    ['ar', /[ء-غف-ي]/u],
    ['fa', /[ء-غف-يپچژکگی]/u],
    ['ur', /[ءآؤئابت-غف-لمنوىيپچژکگیٹڈڑںھہۂۃے]/u],
  ),
  script('Devanagari', ['hi', /[\u0905-\u0939\u093D\u0960\u0961]/u]),
  script(
    'Bengali',
    ['bn', /[\u0985-\u09B9\u09BD\u09CE]/u],
    ['as', /[\u0985-\u09B9\u09BD\u09CE\u09F0\u09F1]/u],
  ),
  script('Gurmukhi', ['pa', /[\u0A05-\u0A39\u0A5C\u0A72\u0A73]/u]),
  script('Gujarati', ['gu', /[\u0A85-\u0AB9\u0AD0\u0AE0]/u]),
  script('Oriya', ['or', /[\u0B05-\u0B39\u0B5F-\u0B61\u0B71]/u]),
  script('Tamil', ['ta', /[\u0B85-\u0BB9]/u]),
  script('Telugu', ['te', /[\u0C05-\u0C39\u0C60\u0C61]/u]),
  script('Kannada', ['kn', /[\u0C85-\u0C8B\u0C8E-\u0CB9]/u]),
  script('Malayalam', ['ml', /[\u0D05-\u0D39\u0D60\u0D61\u0D7A-\u0D7F]/u]),
  script('Sinhala', ['si', /[\u0D85-\u0DC6]/u]),
  script('Georgian', ['ka', /[ა-ჰ]/u]),
  script('Armenian', ['hy', /[Ա-և]/u]),
  script('Ethiopic', ['am', /[ሀ-ሆለ-ቆበ-ኆነ-ኮኰ-ዎዐ-ዮደ-ጎጠ-ፆፈ-ፚ]/u]),
  script('Hangul', ['ko', /[가-힣]/u]),
  { name: 'Japanese', letter: /[\p{scx=Hira}\p{scx=Kana}]/u, languages: [['ja', /[ぁ-ゖァ-ヺー]/u]] },
  // The voice `cmn` reads the tones of its own dictionary as English numbers, so it is not used.
  script('Han', ['cmn-latn-pinyin', /\p{Script=Han}/u]),
]

/** Limits the number of runs, because each is a process of espeak-ng or a task of the model. */
const mostRuns = 200

const isLetter = /[\p{L}\p{N}]/u
const opening = /[\p{Ps}\p{Pi}"'¿¡\s]+$/u

export function splitScripts(text: string): SplitText {
  const letters = new Map<Script, Set<string>>()
  const stretches: { script: Script; text: string }[] = []
  let between = ''
  for (const character of text) {
    const found = scriptOf(character)
    if (found === 'unknown') return { refusal: cannotSpeak(nameOf(character), [character]) }
    const last = stretches.at(-1)
    if (found === undefined) between += character
    else if (last?.script === found) {
      last.text += between + character
      between = ''
    } else {
      // An opening bracket or quote belongs to the following text.
      const lead = last === undefined ? between : (opening.exec(between)?.[0] ?? '')
      if (last !== undefined) last.text += between.slice(0, between.length - lead.length)
      stretches.push({ script: found, text: lead + character })
      between = ''
    }
    if (found !== undefined && /\p{L}/u.test(character))
      letters.set(found, (letters.get(found) ?? new Set()).add(character))
  }
  if (stretches.length > mostRuns) {
    return {
      refusal: `The text changes between alphabets more than ${mostRuns} times. Send it in several requests, or write it in one alphabet.`,
    }
  }
  if (stretches.length === 0) return { runs: [{ text, language: undefined }] }
  stretches.at(-1)!.text += between

  if (hasScript(letters, 'Japanese') && hasScript(letters, 'Han')) {
    return { refusal: 'Kanji cannot be spoken, because their readings are unknown. Write the text in kana.' }
  }
  const languages = new Map<Script, string | undefined>()
  for (const [each, used] of letters) {
    const fit = each.languages.find(([, alphabet]) => [...used].every((letter) => alphabet.test(letter)))
    if (fit === undefined) return { refusal: cannotSpeak(each.name, unsupportedLetters(each, used)) }
    languages.set(each, fit[0])
  }
  return {
    runs: stretches.map((stretch) => ({ text: stretch.text, language: languages.get(stretch.script) })),
  }
}

function script(name: string, ...languages: Script['languages']): Script {
  return { name, letter: new RegExp(`\\p{scx=${name}}`, 'u'), languages }
}

/** Undefined for characters without a script: spaces, punctuation and ASCII digits. */
function scriptOf(character: string): Script | 'unknown' | undefined {
  if (!isLetter.test(character) || /[\p{scx=Zyyy}\p{scx=Zinh}]/u.test(character)) return undefined
  return scripts.find(({ letter }) => letter.test(character)) ?? 'unknown'
}

function hasScript(letters: ReadonlyMap<Script, unknown>, name: string): boolean {
  return [...letters.keys()].some((each) => each.name === name)
}

/** The letters that the nearest language lacks. */
function unsupportedLetters({ languages }: Script, used: ReadonlySet<string>): string[] {
  const lacking = languages.map(([, alphabet]) => [...used].filter((letter) => !alphabet.test(letter)))
  return lacking.toSorted((one, other) => one.length - other.length)[0] ?? []
}

const otherScripts = [
  ...['Thai', 'Lao', 'Khmer', 'Myanmar', 'Tibetan', 'Mongolian', 'Thaana', 'Syriac', 'Cherokee'],
  ...['Bopomofo', 'Javanese', 'Balinese', 'Tifinagh', 'Nko', 'Yi'],
]

function nameOf(character: string): string {
  const name = otherScripts.find((each) => new RegExp(`\\p{scx=${each}}`, 'u').test(character))
  return name ?? 'this'
}

const mostNamed = 5

function cannotSpeak(name: string, letters: string[]): string {
  const named = letters.slice(0, mostNamed).map((letter) => `"${letter}"`)
  const which = named.length === 0 ? '' : ` (${named.join(', ')})`
  return `No voice can speak ${name} letters${which}. Leave them out, or write them in the Latin alphabet.`
}

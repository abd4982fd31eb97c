import type { Word } from './grammar.ts'
import { splitChinese } from './split-chinese.ts'

/** A handle such as `@ocean_girl` names a character; its words do not describe the scene. */
const handle = /@[a-z0-9_.]*[a-z0-9_]/giu

const tokens =
  /@|\p{RGI_Emoji}|[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]&&\p{L}]+|[[\p{L}\p{N}]--[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]]+(?:['’][\p{L}\p{N}]+)*|(?<=[\p{L}\p{N}])[\-‐‑](?=[\p{L}\p{N}])|[^\s\p{L}\p{N}@]/gv

const spaceless = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]/u

/** Variation selectors and skin tones, which the tables leave out. */
const emojiStyle = /\p{Emoji_Modifier}|\ufe0f/gu

/** The words of the tables that are not single English words. */
export interface Vocabulary {
  /** Several English words joined by hyphens. */
  compounds: ReadonlySet<string>
  /** Words of Chinese and Japanese, and emoji. */
  signs: ReadonlySet<string>
}

function withoutHandles(text: string): string {
  return text.replace(handle, ' @ ')
}

/**
 * Splits a prompt into words and punctuation marks. Words that a table lists with a hyphen are one word, whether the prompt
 * has a hyphen or a space. Other hyphenated words are one unknown word, so that "sea-green" does not match "sea".
 */
export function splitWords(prompt: string, { compounds, signs }: Vocabulary): Word[] {
  const texts = (withoutHandles(prompt).toLowerCase().match(tokens) ?? []).flatMap((text) =>
    spaceless.test(text) ? splitChinese(text, signs) : text.replace(emojiStyle, '') || [],
  )
  const words: Word[] = []
  for (let at = 0; at < texts.length;) {
    const compound = longestCompound(texts, at, compounds) ?? hyphenated(texts, at)
    words.push({ text: compound.text })
    at += compound.length
  }
  return words
}

interface Compound {
  text: string
  /** The number of its tokens. */
  length: number
}

const isHyphen = (text: string | undefined) => text !== undefined && /^[-‐‑]$/.test(text)

function longestCompound(texts: string[], at: number, compounds: ReadonlySet<string>): Compound | undefined {
  let text = texts[at]!
  let best: Compound | undefined
  for (let next = at + 1, parts = 1; next < texts.length && parts < 4; next++) {
    if (isHyphen(texts[next])) continue
    text += `-${texts[next]!}`
    parts++
    if (compounds.has(text)) best = { text, length: next - at + 1 }
  }
  return best
}

function hyphenated(texts: string[], at: number): Compound {
  let text = texts[at]!
  let next = at + 1
  while (isHyphen(texts[next]) && texts[next + 1] !== undefined) {
    text += `-${texts[next + 1]!}`
    next += 2
  }
  return { text, length: next - at }
}

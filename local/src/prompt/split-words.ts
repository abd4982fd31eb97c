import type { Word } from './grammar.ts'

/** A handle such as `@ocean_girl` names a person; no letter of it says what there is to see. */
const handle = /@[a-z0-9_.]*[a-z0-9_]/giu

const pieces =
  /@|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*|(?<=[\p{L}\p{N}])[-‐‑](?=[\p{L}\p{N}])|[^\s\p{L}\p{N}@]/gu

export function withoutHandles(text: string): string {
  return text.replace(handle, ' @ ')
}

/**
 * Cuts a prompt into words and marks. Words that are listed with a hyphen in a table are one word, whether they
 * are written with a hyphen, a space or both; other words joined by a hyphen are one unknown word, so that
 * "sea-green" is no sea.
 */
export function splitWords(prompt: string, compounds: ReadonlySet<string>): Word[] {
  const texts = withoutHandles(prompt).toLowerCase().match(pieces) ?? []
  const words: Word[] = []
  for (let at = 0; at < texts.length;) {
    const compound = longestCompound(texts, at, compounds) ?? hyphenated(texts, at)
    words.push({ text: compound.text })
    at += compound.length
  }
  return words
}

interface Piece {
  text: string
  /** How many of the pieces it takes. */
  length: number
}

const isHyphen = (text: string | undefined) => text !== undefined && /^[-‐‑]$/.test(text)

function longestCompound(texts: string[], at: number, compounds: ReadonlySet<string>): Piece | undefined {
  let text = texts[at]!
  let best: Piece | undefined
  for (let next = at + 1, parts = 1; next < texts.length && parts < 4; next++) {
    if (isHyphen(texts[next])) continue
    text += `-${texts[next]!}`
    parts++
    if (compounds.has(text)) best = { text, length: next - at + 1 }
  }
  return best
}

function hyphenated(texts: string[], at: number): Piece {
  let text = texts[at]!
  let next = at + 1
  while (isHyphen(texts[next]) && texts[next + 1] !== undefined) {
    text += `-${texts[next + 1]!}`
    next += 2
  }
  return { text, length: next - at }
}

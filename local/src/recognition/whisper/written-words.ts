import type { WhisperText } from './whisper-text.ts'
import { unspacedLanguages } from './whisper-tokens.ts'

/** A word with its start and end in seconds. */
export interface SpokenWord {
  word: string
  start: number
  end: number
}

/** A word with its punctuation and its tokens. */
export interface WrittenWord {
  word: string
  tokens: number[]
}

const sign = /^\s*[\p{P}\p{S}]+$/u
const opening = /^\s*[\p{Ps}\p{Pi}¿¡"'$€£]+$/u

export function writtenWords(text: WhisperText, tokens: readonly number[], language: string): WrittenWord[] {
  const isSpaced = !unspacedLanguages.has(language)
  const words: WrittenWord[] = []
  for (const part of wholeCharacters(text, tokens)) {
    const last = words.at(-1)
    const isNew = part.word.startsWith(' ') || !isSpaced
    const opens = opening.test(part.word) && isNew
    const joins =
      last !== undefined && (opening.test(last.word) || !(opens || (isNew && !sign.test(part.word))))
    if (joins) {
      last.word += part.word
      last.tokens.push(...part.tokens)
    } else words.push(part)
  }
  return words.map(({ word, tokens: own }) => ({ word: word.trim(), tokens: own }))
}

/** Groups tokens that end within a character with the following ones. */
function* wholeCharacters(text: WhisperText, tokens: readonly number[]): Generator<WrittenWord> {
  let held: number[] = []
  for (const id of tokens) {
    held.push(id)
    const word = text.decode(held)
    if (word.endsWith('\uFFFD')) continue
    yield { word, tokens: held }
    held = []
  }
  if (held.length > 0) yield { word: text.decode(held), tokens: held }
}

/** Measures, clips and wraps text by the columns that it takes in a terminal. */

const ascii = /^[\u0020-\u007E]*$/
/** Colors. The control character is ESC; a line has no other one in front of a bracket. */
const escape = /(\p{Cc}\[[\d;]*[A-Za-z])/u
const invisible = /^[\p{Cc}\p{Cf}\p{M}\u200B]+$/u
/** What terminals show in two columns: East Asian letters, full-width forms and emoji. */
const wide =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\p{Emoji_Presentation}\u3000-\u303E\u30FB\u30FC\u3190-\u33FF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6]|\uFE0F/u
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

const ellipsis = '…'

const measureGrapheme = (grapheme: string): number => {
  if (invisible.test(grapheme)) return 0
  return wide.test(grapheme) ? 2 : 1
}

interface Piece {
  text: string
  columns: number
}

/** Characters as people see them, and escape codes, which take no column. */
function* split(text: string): Generator<Piece> {
  for (const part of text.split(escape)) {
    if (escape.test(part)) yield { text: part, columns: 0 }
    else
      for (const { segment } of segmenter.segment(part))
        yield { text: segment, columns: measureGrapheme(segment) }
  }
}

export const measureColumns = (text: string): number => {
  if (ascii.test(text)) return text.length
  let columns = 0
  for (const piece of split(text)) columns += piece.columns
  return columns
}

/** Cuts what does not fit. Keeps escape codes, so that colors end. */
export const clipText = (text: string, columnsMax: number): string => {
  if (measureColumns(text) <= columnsMax) return text
  let clipped = ''
  let columns = 0
  let isFull = false
  for (const piece of split(text)) {
    if (piece.columns === 0) {
      if (!isFull || escape.test(piece.text)) clipped += piece.text
    } else if (!isFull && columns + piece.columns <= columnsMax - 1) {
      clipped += piece.text
      columns += piece.columns
    } else if (!isFull) {
      isFull = true
      clipped = `${clipped.trimEnd()}${ellipsis}`
    }
  }
  return clipped
}

/** Breaks a word that is longer than a line. */
const breakWord = (word: string, columnsMax: number): string[] => {
  const parts = ['']
  let columns = 0
  for (const piece of split(word)) {
    if (columns + piece.columns > columnsMax) {
      parts.push('')
      columns = 0
    }
    parts.push(`${parts.pop()}${piece.text}`)
    columns += piece.columns
  }
  return parts
}

/** Wraps one line between words. The lines after the first begin with `indent`. */
export const wrapText = (line: string, columnsMax: number, indent = ''): string[] => {
  if (measureColumns(line) <= columnsMax) return [line]
  const restMax = columnsMax - measureColumns(indent)
  const lines: string[] = []
  let current = ''
  // A space at the beginning is the indentation of the line.
  for (const word of line.split(/(?<=\S) +/)) {
    const joined = current === '' ? word : `${current} ${word}`
    if (measureColumns(joined) <= (lines.length === 0 ? columnsMax : restMax)) {
      current = joined
      continue
    }
    if (current !== '') lines.push(current)
    const [first = '', ...more] = breakWord(word, restMax)
    current = more.pop() ?? first
    if (current !== first) lines.push(first, ...more)
  }
  lines.push(current)
  return lines.map((each, index) => (index === 0 ? each : `${indent}${each}`))
}

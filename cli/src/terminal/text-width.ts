/** How many columns a text takes on a terminal, and its beginning that fits. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const wide =
  /^(?:\p{Emoji_Presentation}|\p{Emoji}\u{FE0F}|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{20000}-\u{3FFFD}])/u

const columnsOf = (grapheme: string): number => {
  if (/^[\p{Cc}\p{Mn}\p{Cf}]/u.test(grapheme)) return 0
  return wide.test(grapheme) ? 2 : 1
}

export const measureText = (text: string): number => {
  let columns = 0
  for (const { segment } of segmenter.segment(text)) columns += columnsOf(segment)
  return columns
}

/** Cuts a text to a number of columns; what is cut ends with an ellipsis. */
export const fitText = (text: string, columnsMax: number): string => {
  if (measureText(text) <= columnsMax) return text
  let result = ''
  let columns = 0
  for (const { segment } of segmenter.segment(text)) {
    columns += columnsOf(segment)
    if (columns > columnsMax - 1) break
    result += segment
  }
  return `${result.trimEnd()}…`
}

/** Breaks a title into lines of about equal width, at the largest font size that fits. */

export interface TitleLayout {
  lines: string[]
  fontSize: number
}

export interface TitleArea {
  width: number
  height: number
  /** The largest font size, for short titles. */
  sizeMax: number
}

/** The distance of two lines, in font sizes. */
export const lineHeight = 1.18
const linesMax = 8

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })
const wideSign = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{Extended_Pictographic}\uff01-\uff60]/u

/** An estimate in font sizes; Pango measures exactly, but only after the lines are known. */
function widthOf(text: string): number {
  let width = 0
  for (const sign of text) {
    if (wideSign.test(sign)) width += 1
    else if (/[\s.,:;'’!|ijltfr()]/u.test(sign)) width += 0.32
    else if (/[\p{Lu}mwMW@%&]/u.test(sign)) width += 0.74
    else width += 0.58
  }
  return width
}

/** The parts between which a line may end. Punctuation stays with the word before it. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  for (const { segment } of segmenter.segment(text)) {
    const isWide = wideSign.test(segment)
    const previous = parts.at(-1)
    const mayBreak = previous === undefined || previous.endsWith(' ') || (isWide && wideSign.test(previous))
    const isClosing = /^[\p{P}\s]/u.test(segment) && !/^[\p{Ps}\p{Pi}]/u.test(segment)
    if (previous !== undefined && (isClosing || !mayBreak)) parts[parts.length - 1] = previous + segment
    else parts.push(segment)
  }
  return parts
}

/** The parts in `count` lines whose widest is as narrow as possible. */
function balance(parts: string[], count: number): string[] {
  const widths = parts.map(widthOf)
  const fill = (limit: number): string[] => {
    const lines: string[] = []
    let width = Infinity
    for (const [index, part] of parts.entries()) {
      width += widths[index]!
      if (width > limit) {
        lines.push(part)
        width = widths[index]!
      } else lines[lines.length - 1] += part
    }
    return lines
  }
  let low = Math.max(...widths)
  let high = widths.reduce((sum, width) => sum + width, 0)
  for (let step = 0; step < 24; step++) {
    const middle = (low + high) / 2
    if (fill(middle).length <= count) high = middle
    else low = middle
  }
  return fill(high + 1e-6).map((line) => line.trim())
}

export function layoutTitle(text: string, area: TitleArea): TitleLayout {
  const parts = partsOf(text)
  let best: TitleLayout = { lines: [text], fontSize: 0 }
  for (let count = 1; count <= Math.min(linesMax, parts.length); count++) {
    const lines = balance(parts, count)
    const widest = Math.max(...lines.map(widthOf))
    const fontSize = Math.min(area.sizeMax, area.width / widest, area.height / (lines.length * lineHeight))
    // More lines only for a clearly larger font.
    if (fontSize > best.fontSize * 1.06) best = { lines, fontSize }
  }
  return { ...best, fontSize: Math.max(4, Math.floor(best.fontSize)) }
}

import { stripVTControlCharacters, styleText } from 'node:util'

import { clipText, measureColumns, wrapText } from '../../terminal/columns.ts'
import type { EventLine, Tone } from './event-lines.ts'
import type { HeldLines } from './limit-lines.ts'

const looks: Record<Tone, { sign: string; style: Parameters<typeof styleText>[0] }> = {
  good: { sign: '✓', style: 'green' },
  bad: { sign: '✗', style: 'red' },
  warning: { sign: '▲', style: 'yellow' },
  quiet: { sign: '·', style: 'dim' },
}

const indent = ' '.repeat(13)

const formatTime = (at: Date): string =>
  [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')

interface Format {
  at: Date
  columns: number
  /** False leaves out escape codes. */
  isColored: boolean
}

const join = (tone: Tone, text: string, { at, columns, isColored }: Format): string => {
  const { sign, style } = looks[tone]
  const paint = (look: typeof style, part: string) =>
    isColored ? styleText(look, part, { validateStream: false }) : part
  // A quiet line is dim as a whole, of the others only the sign has a color.
  const body = tone === 'quiet' ? paint(style, `${sign} ${text}`) : `${paint(style, sign)} ${text}`
  return clipText(`  ${paint('dim', formatTime(at))} ${body}`, columns)
}

/** The lines for one event: the event with all parts that fit, and what to do. */
export const formatLine = ({ tone, text, more, hint }: EventLine, format: Format): string => {
  let whole = text
  for (const part of more) {
    const longer = `${whole}  ${part}`
    if (measureColumns(indent) + measureColumns(longer) <= format.columns) whole = longer
  }
  const [first = '', ...rest] = wrapText(whole, format.columns - measureColumns(indent))
  const hintLines =
    hint === undefined ? [] : wrapText(`→ ${hint}`, format.columns - measureColumns(indent), '  ')
  return [
    join(tone, first, format),
    ...[...rest, ...hintLines].map((each) => `${indent}${stripVTControlCharacters(each)}`),
  ].join('\n')
}

/** One line for lines that were counted instead of shown. */
export const formatHeld = (
  { line, count, seconds, isMixed }: HeldLines<EventLine>,
  format: Format,
): string => {
  const what = isMixed ? `, such as ${line.name}` : `: ${line.name}`
  return join(line.tone, `${count} more in ${Math.max(1, seconds)} s${what}`, format)
}

/** Log lines for people at a terminal. */
import { styleText } from 'node:util'

const levels: Record<number, { name: string; style: Parameters<typeof styleText>[0] }> = {
  10: { name: 'TRACE', style: 'dim' },
  20: { name: 'DEBUG', style: 'dim' },
  30: { name: 'INFO', style: 'green' },
  40: { name: 'WARN', style: 'yellow' },
  50: { name: 'ERROR', style: 'red' },
  60: { name: 'FATAL', style: 'red' },
}

// Besides control characters, those that are invisible or change the direction of a text. A terminal would obey them.
const unsafe = /[\p{C}\p{Zl}\p{Zp}]/gu

/** Escapes everything that could move the cursor, change colors, or make one line look like two. */
export const printable = (text: string): string =>
  text.replace(unsafe, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

const plain = /^[\w.:/@+-]+$/

const show = (value: unknown): string => {
  if (typeof value === 'string') return plain.test(value) ? value : printable(JSON.stringify(value))
  return printable(JSON.stringify(value))
}

const hidden = new Set(['level', 'time', 'role', 'version', 'msg', 'pid', 'hostname'])

/** The frames of the stacks in an error, each on a line of its own. */
const framesOf = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return []
  const { stack, cause } = value as { stack?: unknown; cause?: unknown }
  const frames = typeof stack === 'string' && stack !== '' ? stack.split('\n') : []
  return [...frames.map((frame) => `    ${printable(frame.trim())}`), ...framesOf(cause)]
}

const withoutStack = (value: object): object =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
      if (name === 'stack') return []
      return [
        [name, name === 'cause' && typeof each === 'object' && each !== null ? withoutStack(each) : each],
      ]
    }),
  )

const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
  // Without a terminal, or with NO_COLOR, the text stays as it is.
  styleText(style, text, { stream: process.stdout })

/** One line of JSON as a readable line, with the frames of an error below it. */
export const readableLine = (json: string): string => {
  let line: Record<string, unknown>
  try {
    line = JSON.parse(json) as Record<string, unknown>
  } catch {
    return `${printable(json)}\n`
  }
  const { level, time, role, msg, err } = line
  const { name, style } = levels[Number(level)] ?? { name: String(level), style: 'dim' }
  const at = new Date(Number(time))
  const clock = Number.isNaN(at.getTime()) ? '' : at.toISOString().slice(11, 23)
  const fields = Object.entries(line).flatMap(([field, value]) => {
    if (hidden.has(field) || value === undefined) return []
    const shown = field === 'err' && typeof value === 'object' && value !== null ? withoutStack(value) : value
    return [`${paint('dim', `${printable(field)}=`)}${show(shown)}`]
  })
  const head = [
    paint('dim', clock),
    paint(style, printable(name).padEnd(5)),
    printable(typeof role === 'string' ? role : ''),
    paint('bold', printable(typeof msg === 'string' ? msg : '')),
  ]
  return `${[[...head, ...fields].join(' '), ...framesOf(err)].join('\n')}\n`
}

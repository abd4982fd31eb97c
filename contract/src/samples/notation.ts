/** How code samples write values. */
import { fileIn } from './sample-files.ts'

const lineCharactersMax = 80

export interface Notation {
  text: (value: string) => string
  file: (name: string) => string
  constants: Record<string, string>
  key: (name: string) => string
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const indent = (code: string): string => code.replace(/^(?=.)/gm, '  ')

/** On one line if it fits. */
const enclose = (
  [open, close]: [string, string],
  items: string[],
  space: string,
  charactersMax: number,
): string => {
  if (items.length === 0) return open + close
  const line = `${open}${space}${items.join(', ')}${space}${close}`
  if (line.length <= charactersMax) return line
  return [open, ...items.map((item) => `${indent(item)},`), close].join('\n')
}

/** A value as a literal, over several lines if it is longer than `charactersMax`. */
export const writeLiteral = (
  value: unknown,
  notation: Notation,
  charactersMax = lineCharactersMax,
): string => {
  const file = fileIn(value)
  if (file !== undefined) return notation.file(file)
  if (typeof value === 'string') return notation.text(value)
  if (Array.isArray(value)) {
    return enclose(
      ['[', ']'],
      value.map((item) => writeLiteral(item, notation)),
      '',
      charactersMax,
    )
  }
  if (isObject(value)) {
    const members = Object.entries(value).map(
      ([name, member]) => `${notation.key(name)}: ${writeLiteral(member, notation)}`,
    )
    return enclose(['{', '}'], members, notation === python ? '' : ' ', charactersMax)
  }
  return notation.constants[String(value)] ?? String(value)
}

const quoteWith = (mark: string) => (text: string) =>
  `${mark}${text.replaceAll('\\', '\\\\').replaceAll(mark, `\\${mark}`).replaceAll('\n', '\\n')}${mark}`

export const typescript: Notation = {
  text: quoteWith("'"),
  file: (name) => `createReadStream('${name}')`,
  constants: {},
  key: (name) => (/^[a-z_$][\w$]*$/i.test(name) ? name : quoteWith("'")(name)),
}

export const python: Notation = {
  text: quoteWith('"'),
  file: (name) => `open("${name}", "rb")`,
  constants: { true: 'True', false: 'False', null: 'None' },
  key: quoteWith('"'),
}

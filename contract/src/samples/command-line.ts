/** Commands of `kinora`. */
import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { commandCalls, type CommandCall } from './command-calls.ts'
import { quoteForShell } from './curl.ts'
import { fileIn } from './sample-files.ts'

const lineCharactersMax = 90
const secretFile = 'api.key'

type Given = Record<string, unknown>

const word = (text: string): string => (/^[\w.:/,=][\w.:/,=-]*$/.test(text) ? text : quoteForShell(text))

/** `1.50`, with all digits. */
const writeAmount = (micros: number): string => (micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')

const writeValue = (name: string, value: unknown): string => {
  if (name.endsWith('_micros')) return writeAmount(Number(value))
  return fileIn(value) ?? String(value)
}

/** A text that is not JSON is read as that. */
const writeSetting = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const writeSettings = ({ options = {} }: CommandCall, settings: Given): string[] =>
  Object.entries(settings).flatMap(([name, value]) =>
    name in options ? [] : [`--set ${word(`${name}=${writeSetting(value)}`)}`],
  )

/** The values by the names of parameters and fields. */
const collectValues = (
  { settings }: CommandCall,
  { request }: Example,
): { given: Given; settings: Given } => {
  const body = (request.body ?? {}) as Given
  const entries = settings === undefined ? {} : ((body[settings] ?? {}) as Given)
  return { given: { ...request.parameters, ...body, ...entries }, settings: entries }
}

export const writeCommand = ({ id }: Operation, example: Example): string | undefined => {
  const call = (commandCalls as Record<string, CommandCall>)[id]
  if (call === undefined) return undefined
  const { given, settings } = collectValues(call, example)
  const withValue = (options: Record<string, string> = {}) =>
    Object.entries(options).filter(([name]) => given[name] !== undefined)
  const parts = [
    ['kinora', call.words, ...(call.arguments ?? []).map((name) => word(writeValue(name, given[name])))].join(
      ' ',
    ),
    ...withValue(call.options).map(([name, option]) => `--${option} ${word(writeValue(name, given[name]))}`),
    ...withValue(call.secretFiles).map(([, option]) => `--${option} ${secretFile}`),
    ...writeSettings(call, settings),
    ...(call.output === undefined ? [] : [`-o ${call.output}`]),
  ]
  const line = parts.join(' ')
  return line.length > lineCharactersMax ? parts.join(' \\\n  ') : line
}

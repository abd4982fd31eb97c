/** Commands of `kinora`. */
import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { commandCalls, type CommandCall } from './command-calls.ts'
import { quoteForShell } from './curl.ts'
import { fileIn } from './sample-files.ts'

const lineCharactersMax = 90

const word = (value: unknown): string => {
  const text = fileIn(value) ?? String(value)
  return /^[\w.:/,][\w.:/,-]*$/.test(text) ? text : quoteForShell(text)
}

export const writeCommand = ({ id }: Operation, { request }: Example): string | undefined => {
  const call = (commandCalls as Record<string, CommandCall>)[id]
  if (call === undefined) return undefined
  const given: Record<string, unknown> = { ...request.parameters, ...(request.body as object | undefined) }
  const options = Object.entries(call.options ?? {}).flatMap(([name, option]) =>
    given[name] === undefined ? [] : [`--${option} ${word(given[name])}`],
  )
  const parts = [
    ['kinora', call.words, ...(call.arguments ?? []).map((name) => word(given[name]))].join(' '),
    ...options,
    ...(call.output === undefined ? [] : [`-o ${call.output}`]),
  ]
  const line = parts.join(' ')
  return line.length > lineCharactersMax ? parts.join(' \\\n  ') : line
}

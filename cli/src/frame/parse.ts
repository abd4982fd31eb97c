/** Reads the words after the name of a command. */
import { parseArgs } from 'node:util'

import { nameArgument, nameOption, type Command, type Option } from './command.ts'
import { didYouMean } from './suggest.ts'
import { UsageError } from './usage-error.ts'

const checkText = (label: string, text: string, choices: readonly string[] | undefined): string => {
  if (text.trim() === '') throw new UsageError(`${label} must not be empty.`)
  if (choices !== undefined && !choices.includes(text)) {
    throw new UsageError(
      `${label} must be one of ${choices.join(', ')}, got "${text}".${didYouMean(text, choices)}`,
    )
  }
  return text
}

const readNumber = (label: string, text: string, { min, max, isDecimal }: Option): number => {
  const value = Number(text)
  const pattern = isDecimal === true ? /^-?\d+(\.\d+)?$/ : /^-?\d+$/
  if (pattern.test(text) && value >= (min ?? -Infinity) && value <= (max ?? Infinity)) return value
  const range =
    min !== undefined && max !== undefined
      ? ` between ${min} and ${max}`
      : min === undefined
        ? ''
        : `, at least ${min}`
  throw new UsageError(`${label} must be a number${range}, got "${text}".`)
}

const readOption = (name: string, option: Option, given: string[] | undefined): unknown => {
  const label = nameOption(name)
  if (option.type === 'flag') return given !== undefined
  if (option.type === 'list') return (given ?? []).map((text) => checkText(label, text, option.choices))
  const text = given?.at(-1) ?? option.default
  if (text?.trim() === '' && option.type === 'text' && option.isRequired === undefined) {
    throw new UsageError(`${label} must not be empty. Leave it out to use the default.`)
  }
  if (text === undefined) {
    if (option.isRequired === true) throw new UsageError(`${label} is missing: ${option.summary}.`)
    return undefined
  }
  return option.type === 'number' ? readNumber(label, text, option) : checkText(label, text, option.choices)
}

/** The values of each option that is given; those of a flag are empty. */
const collectOptions = (words: string[], options: Command['options']) => {
  const known = Object.entries({
    ...options,
    help: { type: 'flag', short: 'h', summary: '' } as const satisfies Option,
  }).map(([name, option]: [string, Option]) => ({ name, option, long: nameOption(name).slice(2) }))
  const { tokens } = parseArgs({
    args: words,
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      known.map(({ long, option }) => [
        long,
        {
          type: option.type === 'flag' ? ('boolean' as const) : ('string' as const),
          ...(option.short !== undefined && { short: option.short }),
        },
      ]),
    ),
  })
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const found = known.find(({ long }) => long === token.name)
    if (found === undefined) {
      const names = known.map(({ name }) => nameOption(name))
      throw new UsageError(`There is no option ${token.rawName}.${didYouMean(token.rawName, names)}`)
    }
    const { name, option } = found
    if (option.type === 'flag') {
      if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value.`)
      given.set(name, [])
      continue
    }
    const isOption = token.inlineValue === false && /^-[^\d]/.test(token.value)
    if (token.value === undefined || isOption) throw new UsageError(`${token.rawName} needs a value.`)
    given.set(name, [...(given.get(name) ?? []), token.value])
  }
  return { given, positionals }
}

const readArguments = (command: Command, positionals: string[]): Record<string, unknown> => {
  const rest = [...positionals]
  const values: Record<string, unknown> = {}
  for (const [name, argument] of Object.entries(command.arguments)) {
    const label = nameArgument(name, argument)
    if (argument.isList === true) {
      values[name] = rest.splice(0).map((text) => checkText(label, text, argument.choices))
      if (argument.isOptional === undefined && (values[name] as string[]).length === 0) {
        throw new UsageError(`${label} is missing: ${argument.summary}.`)
      }
      continue
    }
    const text = rest.shift()
    if (text === undefined && argument.isOptional === undefined) {
      throw new UsageError(`${label} is missing: ${argument.summary}.`)
    }
    values[name] = text === undefined ? undefined : checkText(`<${name}>`, text, argument.choices)
  }
  if (rest.length > 0) {
    const needsQuotes = rest.length > 1 ? ' Put a text with spaces into quotes.' : ''
    throw new UsageError(`There is one argument too many: ${JSON.stringify(rest[0])}.${needsQuotes}`)
  }
  return values
}

/** The input of a command, or `help` if it asks for help. */
export const parseWords = (command: Command, words: string[]): Record<string, unknown> | 'help' => {
  try {
    const { given, positionals } = collectOptions(words, command.options)
    if (given.has('help')) return 'help'
    return {
      ...readArguments(command, positionals),
      ...Object.fromEntries(
        Object.entries(command.options).map(([name, option]) => [
          name,
          readOption(name, option, given.get(name)),
        ]),
      ),
    }
  } catch (error) {
    if (error instanceof UsageError) error.words = command.words
    throw error
  }
}

/** What a command of `kinora` is. The parser, the help, the completion and docs/command-line.md derive from it. */
import { operationOfCommand } from '@kinora/contract/samples/command-calls'

export const groups = ['Make', 'Follow', 'Operate', 'Run'] as const
type Group = (typeof groups)[number]

interface Value {
  summary: string
  choices?: readonly string[]
}

export interface Argument extends Value {
  isOptional?: true
  /** Takes all that follow; only the last argument. */
  isList?: true
}

export interface Option extends Value {
  type: 'text' | 'number' | 'flag' | 'list'
  short?: string
  /** Names the value in the help, such as `file`. */
  value?: string
  default?: string
  isRequired?: true
  min?: number
  max?: number
  /** A number need not be whole. */
  isDecimal?: true
}

/** By name. The names of options are written in camel case: `dryRun` is `--dry-run`. */
export type Arguments = Record<string, Argument>
export type Options = Record<string, Option>

type Text<Of extends Value> = Of extends { choices: readonly (infer Choice)[] } ? Choice : string

type ArgumentValue<Of extends Argument> = Of extends { isList: true }
  ? string[]
  : Of extends { isOptional: true }
    ? Text<Of> | undefined
    : Text<Of>

type Single<Of extends Option> = Of extends { type: 'number' } ? number : Text<Of>

type OptionValue<Of extends Option> = Of extends { type: 'flag' }
  ? boolean
  : Of extends { type: 'list' }
    ? string[]
    : Of extends { default: string } | { isRequired: true }
      ? Single<Of>
      : Single<Of> | undefined

/** The values by name; nothing for a command without any. */
type ArgumentValues<Of extends Arguments> = string extends keyof Of
  ? unknown
  : { -readonly [Name in keyof Of]: ArgumentValue<Of[Name]> }
type OptionValues<Of extends Options> = string extends keyof Of
  ? unknown
  : { -readonly [Name in keyof Of]: OptionValue<Of[Name]> }

export type Input<A extends Arguments, O extends Options> = ArgumentValues<A> & OptionValues<O>

/** What a command may need to know about all of them. */
export interface CommandLine {
  version: string
  commands: readonly Command[]
  /** The summaries of the first words that several commands share. */
  nouns: Record<string, string>
}

interface Description {
  /** The words after `kinora`, such as `video create`. */
  words: string
  group: Group
  summary: string
  /** More than the summary says: whole sentences for the help of the command. */
  details?: string
  /** A whole command line. */
  example: string
  /**
   * The operation whose response `--json` prints, or a description of what it prints. Default: the operation that the
   * command calls, if there is one.
   */
  prints?: string
}

export interface Command extends Description {
  arguments: Arguments
  options: Options
  /** Returns the exit code; undefined is 0. */
  run: (input: Record<string, unknown>, line: CommandLine) => Promise<number | void>
}

/** The modules that `run` needs are imported inside of it, so that a command loads only its own. */
export const defineCommand = <
  const A extends Arguments = Record<string, never>,
  const O extends Options = Record<string, never>,
>(
  command: Description & {
    arguments?: A
    options?: O
    run: (input: Input<A, O>, line: CommandLine) => Promise<number | void>
  },
): Command => {
  const prints = command.prints ?? operationOfCommand(command.words)
  return {
    ...command,
    ...(prints !== undefined && { prints }),
    arguments: command.arguments ?? {},
    options: command.options ?? {},
    run: (input, line) => command.run(input as Input<A, O>, line),
  }
}

export const nameOption = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

export const nameArgument = (name: string, { isOptional, isList }: Argument): string =>
  isOptional === true
    ? `[${name}${isList === true ? '...' : ''}]`
    : `<${name}>${isList === true ? '...' : ''}`

export const usageOf = ({ words, arguments: named, options }: Command): string =>
  [
    `kinora ${words}`,
    ...Object.entries(named).map(([name, argument]) => nameArgument(name, argument)),
    ...(Object.keys(options).length === 0 ? [] : ['[options]']),
  ].join(' ')

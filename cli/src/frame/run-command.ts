import type { Command, CommandLine } from './command.ts'
import { exitCodeOf, exitCodeOfTask, exitCodes } from './exit-code.ts'
/** Finds the command that the words name, runs it, and tells what went wrong. */
import { helpOfAll, helpOfCommand, helpOfNoun, firstWord } from './help.ts'
import { parseWords } from './parse.ts'
import { escapeControls } from './safe-text.ts'
import { didYouMean } from './suggest.ts'
import { UsageError } from './usage-error.ts'

const isHelp = (word: string | undefined) => word === '--help' || word === '-h'

/** The command with the most words that begin the given ones, and the words after it. */
export const findCommand = (
  commands: readonly Command[],
  words: string[],
): { command: Command; rest: string[] } | undefined => {
  for (let count = 3; count >= 1; count -= 1) {
    const name = words.slice(0, count).join(' ')
    const command = commands.find((each) => each.words === name)
    if (command !== undefined) return { command, rest: words.slice(count) }
  }
  return undefined
}

const unknownCommand = ({ commands }: CommandLine, words: string[]): UsageError => {
  const [first = '', second = ''] = words
  const ofNoun = commands.filter((command) => firstWord(command) === first)
  if (ofNoun.length > 0) {
    const names = ofNoun.map((command) => command.words.slice(first.length + 1))
    const error = new UsageError(
      `There is no command kinora ${first} ${second}.${didYouMean(second, names).replace('mean ', `mean kinora ${first} `)}`,
    )
    error.words = first
    return error
  }
  const names = [...new Set(commands.flatMap((command) => [command.words, firstWord(command)]))]
  const similar = didYouMean([first, second].join(' ').trim(), names)
  const hint = similar === '' ? didYouMean(first, names) : similar
  return new UsageError(`There is no command kinora ${first}.${hint.replace('mean ', 'mean kinora ')}`)
}

const print = (text: string) => {
  process.stdout.write(text)
}

/** Runs the command and returns its exit code. */
export const runWords = async (line: CommandLine, words: string[]): Promise<number> => {
  const [first] = words
  if (first === '--version' || first === '-V') return (print(`${line.version}\n`), 0)
  if (first === 'help') return runWords(line, [...words.slice(1), '--help'])
  if (first === undefined || isHelp(first)) return (print(helpOfAll(line)), 0)
  const found = findCommand(line.commands, words)
  if (found === undefined) {
    const isNoun = line.commands.some((command) => firstWord(command) === first)
    if (isNoun && (words.length === 1 || isHelp(words[1]))) {
      const isAsked = words.length > 1
      const stream = isAsked ? process.stdout : process.stderr
      stream.write(helpOfNoun(line, first))
      return isAsked ? 0 : exitCodes.usage
    }
    throw unknownCommand(line, words)
  }
  const { command, rest } = found
  const input = parseWords(command, rest)
  if (input === 'help') return (print(helpOfCommand(command)), 0)
  try {
    return (await command.run(input, line)) ?? 0
  } catch (error) {
    if (error instanceof UsageError && error.words === '') error.words = command.words
    throw error
  }
}

/** What an error of `@kinora/client` has, which is not loaded only to recognize it. */
interface ServiceError {
  name: 'KinoraError'
  message: string
  code: string
  type?: string
  status?: number
  param?: string
  hint?: string
  requestId?: string
  taskId?: string
}

const unreachableHint =
  'Check that the service runs, and its address: KINORA_URL, or the profile that kinora login --list shows.'

const describeServiceError = ({ message, code, hint, requestId, taskId, ...error }: ServiceError) => {
  // Without a status, the service was not reached or did not respond in time.
  const isUnreachable = error.status === undefined && taskId === undefined
  // The message names the parameter; the hint says only that it should be corrected.
  const shownHint = isUnreachable ? unreachableHint : error.param === undefined ? hint : undefined
  const lines = [
    message,
    ...(shownHint === undefined ? [] : [shownHint]),
    ...(requestId === undefined ? [] : [`Request ${requestId}`]),
    ...(taskId === undefined ? [] : [`Task ${taskId}`]),
  ]
  const failed = error.type === undefined && taskId !== undefined
  return {
    text: lines.join('\n'),
    exitCode: isUnreachable
      ? exitCodes.upstream
      : failed
        ? exitCodeOfTask(code)
        : exitCodeOf({ code, type: error.type }),
  }
}

const describe = (error: unknown): { text: string; exitCode: number } => {
  if (error instanceof UsageError) {
    const command = ['kinora', ...(error.words === '' ? [] : [error.words]), '--help'].join(' ')
    return { text: `${error.message}\nSee ${command}`, exitCode: exitCodes.usage }
  }
  const { name, message, exitCode } = error as { name?: unknown; message?: unknown; exitCode?: unknown }
  if (name === 'KinoraError') return describeServiceError(error as ServiceError)
  return {
    text: typeof message === 'string' && message !== '' ? message : String(error),
    exitCode: typeof exitCode === 'number' ? exitCode : exitCodes.failed,
  }
}

/** The text of an error and the exit code. Errors of the service have their hint and the id of the request. */
export const describeError = (error: unknown): { text: string; exitCode: number } => {
  const { text, exitCode } = describe(error)
  // A message may repeat what somebody else has sent to the service.
  return { text: escapeControls(text), exitCode }
}

/** Checks the commands that documents name against the commands of `kinora`. */
import { commands } from '../cli/src/commands/all-commands.ts'
import { nameOption } from '../cli/src/frame/command.ts'

/** The options of each command, by its words. */
const options = new Map<string, Set<string>>([
  ['', new Set(['--help', '--version'])],
  ...commands.map((command): [string, Set<string>] => [
    command.words,
    new Set([...Object.keys(command.options).map(nameOption), '--help']),
  ]),
])

/** The words after each `kinora`, up to the end of its command. */
export const commandsIn = (code: string): string[][] =>
  [...code.matchAll(/(?<![\w=/.-])kinora ([^\n|;)&>#]*)/g)].map(([, words = '']) =>
    words.split(/\s+/).filter((word) => word !== ''),
  )

export const findCommandProblem = (words: string[]): string | undefined => {
  const named = `kinora ${words.join(' ')}`
  const command = [2, 1].map((count) => words.slice(0, count).join(' ')).find((each) => options.has(each))
  if (command === undefined) return `${named}: there is no such command`
  const unknown = words.find((word) => word.startsWith('--') && !options.get(command)?.has(word))
  return unknown === undefined ? undefined : `${named}: there is no option ${unknown}`
}

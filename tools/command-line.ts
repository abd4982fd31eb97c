/** The commands and options of `kinora`, as its source defines them, to check the commands that documents name. */
import { readFileSync } from 'node:fs'

const source = readFileSync(new URL('../cli/src/kinora.ts', import.meta.url), 'utf8')

/** The options of each command, by its words. */
const options = new Map<string, Set<string>>()
const groups = new Map<string, string>([['program', '']])

for (const [, group, parent = '', body = ''] of source.matchAll(
  /^(?:const (\w+) = )?(\w+)(\s*\.command\([^]*?)(?=^(?:const|program|try|\w+$))/gm,
)) {
  const names = [...body.matchAll(/\.command\('([\w-]+)'\)/g)].map(([, name = '']) => name)
  const words = [groups.get(parent) ?? '', ...names].join(' ').trim()
  if (group !== undefined) groups.set(group, words)
  const known = [...body.matchAll(/ption\(\s*'(--[\w-]+)/g)].map(([, option = '']) => option)
  options.set(words, new Set([...known, '--help', '--version']))
}

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

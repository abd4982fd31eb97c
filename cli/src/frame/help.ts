/** The texts of `--help`. */
import { styleText } from 'node:util'

import { groups, nameArgument, nameOption, usageOf, type Command, type CommandLine } from './command.ts'

const columnsMax = 80

const wrap = (text: string, indent: number, width = columnsMax): string => {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && indent + line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}

const bold = (text: string) => styleText('bold', text)

const labelMax = 24

/** Two columns; a long label has its text on the next line. */
const list = (rows: [label: string, text: string][]): string[] => {
  const width = Math.min(labelMax, Math.max(...rows.map(([label]) => label.length)))
  const indent = width + 4
  return rows.map(([label, text]) => {
    const gap = label.length > width ? `\n${' '.repeat(indent)}` : ' '.repeat(width - label.length + 2)
    return `  ${styleText('cyan', label)}${gap}${wrap(text, indent)}`
  })
}

/** The environment that decides which service the commands use; in the help of every command that calls one. */
const connectionHelp =
  'Uses the service in KINORA_URL and KINORA_API_KEY (or OPENAI_BASE_URL and OPENAI_API_KEY), else the profile of `kinora login`, else the one that `kinora dev` runs in this directory.'

const operatorHelp =
  'Uses the operator key in OPERATOR_KEY and the address in KINORA_URL (or --url, or the settings on this machine), else the profile of `kinora login`, else the service that `kinora dev` runs in this directory.'

const describeOption = (
  name: string,
  { type, short, value, default: fallback, summary, choices }: Command['options'][string],
): [string, string] => [
  `${short === undefined ? '' : `-${short}, `}${nameOption(name)}${type === 'flag' ? '' : ` <${value ?? name}>`}`,
  [
    summary,
    ...(choices === undefined ? [] : [`: ${choices.join(', ')}`]),
    ...(fallback === undefined ? [] : [` (default: ${fallback})`]),
    ...(type === 'list' ? ['; may be repeated'] : []),
  ].join(''),
]

export const helpOfCommand = (command: Command): string => {
  const named = Object.entries(command.arguments)
  const options = Object.entries(command.options)
  return [
    wrap(command.summary, 0),
    ...(command.details === undefined ? [] : ['', wrap(command.details, 0)]),
    '',
    `${bold('Usage:')} ${usageOf(command)}`,
    ...(named.length === 0 ? [] : ['', bold('Arguments:')]),
    ...(named.length === 0
      ? []
      : list(named.map(([name, argument]) => [nameArgument(name, argument), argument.summary]))),
    ...(options.length === 0 ? [] : ['', bold('Options:')]),
    ...(options.length === 0 ? [] : list(options.map(([name, option]) => describeOption(name, option)))),
    '',
    bold('Example:'),
    `  ${command.example}`,
    ...('profile' in command.options
      ? ['', wrap(command.group === 'Operate' ? operatorHelp : connectionHelp, 0)]
      : []),
    '',
  ].join('\n')
}

export const firstWord = ({ words }: Command): string => words.split(' ', 1)[0] ?? words

/** The list of all commands shows no more, so that it fits a screen. */
const firstSentenceOf = (summary: string): string => summary.replace(/(?<=\.) [A-Z].*$/s, '')

/** One row for the commands of a group that share their first word. */
const rowsOfGroup = ({ commands, nouns }: CommandLine, group: string): [string, string][] => {
  const own = commands.filter((command) => command.group === group)
  return [...new Set(own.map(firstWord))].map((word) => {
    const members = own.filter((command) => firstWord(command) === word)
    const [only] = members
    if (members.length === 1 && only !== undefined) return [only.words, firstSentenceOf(only.summary)]
    const names = members.map(({ words }) => words.slice(word.length + 1)).join('|')
    const summary = nouns[`${group} ${word}`] ?? nouns[word] ?? ''
    const label = `${word} ${names}`
    return label.length <= labelMax ? [label, summary] : [word, `${summary} (${names.replaceAll('|', ', ')})`]
  })
}

/** The help of all commands, or of those that share a first word. */
export const helpOfAll = (line: CommandLine): string =>
  [
    'Kinora, a self-hosted media generation service.',
    '',
    `${bold('Usage:')} kinora <command> [options]`,
    ...groups.flatMap((group) => ['', bold(group), ...list(rowsOfGroup(line, group))]),
    '',
    wrap('`kinora <command> --help` explains a command, `kinora --version` shows the version.', 0),
    wrap(connectionHelp.replace('Uses', 'Make and Follow use'), 0),
    '',
  ].join('\n')

export const helpOfNoun = ({ commands, nouns }: CommandLine, noun: string): string =>
  [
    `${nouns[noun] ?? noun}.`,
    '',
    `${bold('Usage:')} kinora ${noun} <command> [options]`,
    '',
    ...list(
      commands
        .filter((command) => firstWord(command) === noun)
        .map(({ words, summary }) => [words.slice(noun.length + 1) || words, summary]),
    ),
    '',
  ].join('\n')

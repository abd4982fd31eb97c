/** The page of the command line, from the table of its commands. */
import { commands } from '../cli/src/commands/all-commands.ts'
import { serviceOptions } from '../cli/src/commands/service-options.ts'
import {
  groups,
  nameArgument,
  nameOption,
  usageOf,
  type Command,
  type Option,
} from '../cli/src/frame/command.ts'
import { exitCodeMeanings } from '../cli/src/frame/exit-code.ts'
import { adminOperations } from '../contract/src/admin-operations.ts'
import type { Operation } from '../contract/src/operation.ts'
import { operations } from '../contract/src/operations.ts'

/** The words of placeholders would be HTML. */
const cell = (text: string) => text.replaceAll('|', '\\|')

const describeOption = (name: string, option: Option): string => {
  const { short, type, value = name, summary, choices, default: fallback } = option
  const names = [...(short === undefined ? [] : [`-${short}`]), nameOption(name)]
  const label = names.map((each) => `\`${each}${type === 'flag' ? '' : ` <${value}>`}\``).join(', ')
  const notes = [
    ...(option.isRequired === true ? ['required'] : []),
    ...(choices === undefined ? [] : [choices.map((choice) => `\`${choice}\``).join(', ')]),
    ...(fallback === undefined ? [] : [`default \`${fallback}\``]),
    ...(type === 'list' ? ['may be repeated'] : []),
  ]
  return `| ${label} | ${cell([summary, ...notes].join('; '))} |`
}

const describeJson = ({ prints }: Command): string[] => {
  if (prints === undefined) return []
  const all: Record<string, Operation> = { ...operations, ...adminOperations }
  const operation = all[prints]
  const text =
    operation === undefined
      ? prints
      : `the ${operation.answer.events === undefined || operation.answer.schema !== undefined ? 'response' : 'events'} of \`${operation.method} ${operation.path}\``
  return ['', `\`--json\` prints ${text}.`]
}

const section = (command: Command): string[] => {
  const { words, summary, details, example, arguments: named, options } = command
  const rows = [
    ...Object.entries(named).map(
      ([name, argument]) => `| \`${nameArgument(name, argument)}\` | ${cell(argument.summary)} |`,
    ),
    // --json is described below the table, and --profile at the beginning of the page.
    ...Object.entries(options)
      .filter(([name]) => name !== 'json' && (name !== 'profile' || options[name] !== serviceOptions.profile))
      .map(([name, option]) => describeOption(name, option)),
  ]
  return [
    `### kinora ${words}`,
    '',
    [summary, ...(details === undefined ? [] : [details])].join(' '),
    '',
    '```sh',
    example,
    '```',
    '',
    `Usage: \`${usageOf(command)}\``,
    ...(rows.length === 0 ? [] : ['', '| | |', '|---|---|', ...rows]),
    ...describeJson(command),
    '',
  ]
}

const intros: Record<(typeof groups)[number], string> = {
  Make: 'These commands call a service with the key of a customer.',
  Follow: 'These commands show and change what the account of the key has.',
  Operate:
    'For operators. Commands with `--profile` call the [admin API](admin-api.md) [with the key of an operator](#with-the-key-of-an-operator); the others use the database and the settings of the service in the environment.',
  Run: 'The service itself, its parts, and the models of the built-in provider.',
}

export const commandPage = (note: string): string =>
  [
    '# The command line',
    '',
    note,
    '',
    '`kinora` creates videos, speech and transcripts, follows them, operates the service and runs it. In a clone, it is',
    '`npm run kinora --`.',
    '',
    '```sh',
    'kinora dev                                       # a service on this machine; in another terminal, in the same directory:',
    'kinora video create "A whale at sunset" -o whale.mp4',
    'kinora speak "Dinner is ready." -o dinner.mp3',
    'kinora transcribe dinner.mp3',
    '```',
    '',
    '- [Which service it calls](#which-service-it-calls)',
    '- [Output](#output)',
    '- [Exit codes](#exit-codes)',
    ...groups.map((group) => {
      const own = commands.filter((command) => command.group === group)
      const links = own.map(({ words }) => `[${words}](#kinora-${words.replaceAll(' ', '-')})`)
      return `- [${group}](#${group.toLowerCase()}): ${links.join(', ')}`
    }),
    '',
    '## Which service it calls',
    '',
    'The first of these that is there:',
    '',
    '1. the profile that `--profile` names',
    '2. `KINORA_URL` and `KINORA_API_KEY`; without the address, `http://127.0.0.1:8787`',
    '3. `OPENAI_BASE_URL` and `OPENAI_API_KEY`, if the address is not that of OpenAI',
    '4. the profile in `KINORA_PROFILE`, or that of the last `kinora login`',
    '5. the service that `kinora dev` runs with `.kinora` in the current directory',
    '',
    'Profiles are in `~/.config/kinora/profiles.json` (or in `$XDG_CONFIG_HOME`), which only you can read.',
    '',
    '### With the key of an operator',
    '',
    'Commands under [Operate](#operate) that call the admin API take the first of these:',
    '',
    '1. the profile that `--profile` names',
    '2. `OPERATOR_KEY`, at `KINORA_URL`; without the address, at that of the admin API in the settings on this machine',
    '3. `KINORA_URL` and `KINORA_API_KEY`, or the profile, as above',
    '4. the service that `kinora dev` runs with `.kinora` in the current directory',
    '',
    '`--url` names another address, such as that of `ADMIN_PORT`. If the first place has the key of a customer, `accounts get`,',
    '`accounts update` and `keys` are about their own account, and the other commands refuse it: a later place may be another',
    'service.',
    '',
    'Accounts, keys and plans are named by their id, their name, or a beginning of either that no other has (of an id, at least',
    'six characters). What is ambiguous is refused. Amounts are written in the currency of the service, such as `12.50`, with a',
    'dot and without separators of thousands. What cannot be undone asks first, and needs `--yes` without a terminal.',
    '',
    '## Output',
    '',
    'Results go to stdout, messages and progress to stderr. On a terminal, progress is one line with the stage, the queue',
    'position and the time left; elsewhere it is a line per stage and per tenth. Tables in a pipe have their cells separated by',
    'tabs, complete and without a header. Colours follow `NO_COLOR` and `FORCE_COLOR`. Control characters in texts of others are',
    'shown as escapes, such as `\\u001b`.',
    '',
    '`--json` prints one line of JSON: the object of the API, as [openapi.json](openapi.json) describes it. Amounts in it are',
    'millionths of their currency.',
    '',
    'Ctrl-C while a video is made asks whether to cancel it, leave it running, or keep waiting. Without a terminal, it is left',
    'running, and the message has the command that follows it.',
    '',
    '## Exit codes',
    '',
    '| code | meaning |',
    '|---|---|',
    ...Object.entries(exitCodeMeanings).map(([code, meaning]) => `| ${code} | ${meaning} |`),
    '',
    'Settings of the service that are invalid are 78. An error of the service is printed with its hint and the id of the',
    'request, by which the operator finds it.',
    '',
    ...groups.flatMap((group) => [
      `## ${group}`,
      '',
      intros[group],
      '',
      ...commands.filter((command) => command.group === group).flatMap(section),
    ]),
  ]
    .join('\n')
    .replace(/\n+$/, '\n')

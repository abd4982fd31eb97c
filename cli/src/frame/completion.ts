/** The completion scripts of shells. They contain all words, so that no process starts for a completion. */
import { nameOption, type Command, type CommandLine } from './command.ts'

type Shell = 'bash' | 'zsh' | 'fish'

/** What can follow each sequence of words: the next words, then the options of a complete command. */
const findFollowers = (commands: readonly Command[]): Map<string, string[]> => {
  const followers = new Map<string, Set<string>>()
  const add = (path: string, word: string) => {
    followers.set(path, (followers.get(path) ?? new Set()).add(word))
  }
  for (const command of commands) {
    const words = command.words.split(' ')
    for (const [index, word] of words.entries()) add(words.slice(0, index).join(' '), word)
    for (const name of Object.keys(command.options)) add(command.words, nameOption(name))
    add(command.words, '--help')
    const [argument] = Object.values(command.arguments)
    for (const choice of argument?.choices ?? []) add(command.words, choice)
  }
  return new Map([...followers].map(([path, words]) => [path, [...words]]))
}

/** The values of options with choices, by option. */
const findChoices = (commands: readonly Command[]): Map<string, string[]> => {
  const choices = new Map<string, Set<string>>()
  for (const { options } of commands) {
    for (const [name, option] of Object.entries(options)) {
      if (option.choices === undefined) continue
      const known = choices.get(nameOption(name)) ?? new Set()
      choices.set(nameOption(name), new Set([...known, ...option.choices]))
    }
  }
  return new Map([...choices].map(([name, words]) => [name, [...words]]))
}

const cases = (rows: Map<string, string[]>, indent: string) =>
  [...rows].map(([key, words]) => `${indent}'${key}') echo '${words.join(' ')}' ;;`).join('\n')

/** Functions that bash and zsh share. `_kinora_words` gets the previous words, the last of them first as `$1`. */
const shared = ({ commands }: CommandLine) => `_kinora_words() {
  case "$1" in
${cases(findChoices(commands), '    ')}
    *)
      shift
      local path="" word
      for word in "$@"; do
        case "$word" in -*) ;; *) [ -n "$(_kinora_after "\${path:+$path }$word")" ] && path="\${path:+$path }$word" ;; esac
      done
      _kinora_after "$path" ;;
  esac
}
_kinora_after() {
  case "$1" in
${cases(findFollowers(commands), '    ')}
  esac
}
`

const scripts: Record<Shell, (line: CommandLine) => string> = {
  bash: (line) => `${shared(line)}_kinora() {
  local words
  words="$(_kinora_words "\${COMP_WORDS[COMP_CWORD-1]}" "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kinora kinora
`,
  zsh: (line) => `${shared(line)}_kinora() {
  local -a found
  found=(\${=$(_kinora_words "\${words[CURRENT-1]}" "\${(@)words[2,CURRENT-1]}")})
  compadd -- $found
  _files
}
compdef _kinora kinora
`,
  fish: ({ commands }) => {
    const rows = commands.flatMap((command) => {
      const words = command.words.split(' ')
      const last = words.at(-1) ?? ''
      const before = words.slice(0, -1)
      const isHere =
        before.length === 0 ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${before.at(-1)}`
      const isChosen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')
      const summary = command.summary.replaceAll("'", '’')
      return [
        ...(before.length === 0 ? [] : [`complete -c kinora -n __fish_use_subcommand -a ${before[0]}`]),
        `complete -c kinora -n '${isHere}' -a ${last} -d '${summary}'`,
        ...Object.entries(command.options).map(
          ([name, option]) =>
            `complete -c kinora -n '${isChosen}' -l ${nameOption(name).slice(2)}${option.type === 'flag' ? '' : ' -r'}${option.choices === undefined ? '' : ` -a '${option.choices.join(' ')}'`} -d '${option.summary.replaceAll("'", '’')}'`,
        ),
      ]
    })
    return `${[...new Set(rows)].join('\n')}\n`
  },
}

export const completionScript = (shell: Shell, line: CommandLine): string => scripts[shell](line)

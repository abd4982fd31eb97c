/** Runs a command in a pseudo-terminal, with `script` of util-linux. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'

export interface Terminal extends AsyncDisposable {
  /** Everything that the terminal received. */
  raw: () => string
  /** The text that was printed, without colors and without lines that were redrawn. */
  lines: () => string[]
  type: (keys: string) => void
  ended: Promise<unknown>
}

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`

/** What was printed above the status lines. Those are erased before each new line, from the first of them on. */
const printed = (raw: string): string[] => {
  const parts = raw.split('\u001B[J')
  return parts
    .flatMap((part, index) => {
      const rows = part.split('\r\n')
      const above = Number(/\[(\d+)A\r$/.exec(part)?.[1] ?? 0)
      return index === parts.length - 1 ? rows : rows.slice(0, -1 - above)
    })
    .map((row) => stripVTControlCharacters(row).trimEnd())
}

/** The mode of the terminal is printed when the command has ended. */
export const startInTerminal = (
  command: string[],
  { columns, env, cwd }: { columns: number; env: NodeJS.ProcessEnv; cwd?: string },
): Terminal => {
  const line = `stty cols ${columns} rows 40; ${command.map(quote).join(' ')}; echo "exit code $?"; stty -a`
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...env, SHELL: '/bin/sh', TERM: 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(cwd !== undefined && { cwd }),
  })
  let raw = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text
  })
  const ended = once(child, 'exit')
  return {
    raw: () => raw,
    lines: () => printed(raw),
    type: (keys) => void child.stdin.write(keys),
    ended,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await ended
    },
  }
}

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export type Environment = Readonly<Record<string, string | undefined>>

interface ForeignProcess {
  command: string
  arguments: readonly string[]
  environment: Environment
  /** Descriptor for stdout and stderr. */
  output: number
  /** What the process receives when this one dies, however it dies. */
  signalOnOurDeath: NodeJS.Signals
  workingDirectory?: string
  owner?: { uid: number; gid: number }
}

/**
 * Starts a program that is not ours so that it ends with us, even when we are killed. It leads its own session:
 * Ctrl-C in the terminal then reaches only us, and we end things in their order.
 */
export function startForeign(options: ForeignProcess): ChildProcess {
  const { environment, output, owner, workingDirectory } = options
  const [command, ...rest] = endingWithUs(
    [options.command, ...options.arguments],
    options.signalOnOurDeath,
    environment,
  )
  return spawn(command, rest, {
    env: { ...environment },
    stdio: ['ignore', output, output],
    detached: true,
    ...(workingDirectory !== undefined && { cwd: workingDirectory }),
    ...owner,
  })
}

type CommandLine = readonly [command: string, ...rest: string[]]

/** The command line that runs the given one so that it receives the signal when we die, where that can be had. */
export function endingWithUs(
  line: CommandLine,
  signal: NodeJS.Signals,
  environment: Environment,
): CommandLine {
  if (!canFollowOurDeath(environment)) return line
  return ['setpriv', '--pdeathsig', signal.replace(/^SIG/, ''), '--', ...line]
}

// setpriv of util-linux executes the program in its place, so the process id stays the program's. The one of
// busybox does not know the option, and macOS has none: there a killed run is cleaned up by the next start.
let setprivWorks: boolean | undefined
function canFollowOurDeath(environment: Environment): boolean {
  setprivWorks ??=
    process.platform === 'linux' &&
    spawnSync('setpriv', ['--pdeathsig', 'TERM', '--', 'true'], { env: { ...environment }, stdio: 'ignore' })
      .status === 0
  return setprivWorks
}

/**
 * What a foreign program sees of our environment. A list of what is passed rather than of what is not, because
 * both servers read much from it: proxies for calls to the loopback worker, PG…, RESTATE_…, RUST_LOG.
 */
export function plainEnvironment(environment: Environment): Record<string, string> {
  const plain: Record<string, string> = {}
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH']) {
    const value = environment[name]
    if (value !== undefined) plain[name] = value
  }
  return plain
}

/**
 * Ends a process an earlier run left behind, and waits until it is gone. The command line must show that the id
 * still means that process: ids are used again.
 */
export async function stopLeftover(
  pid: number,
  isIt: (commandLine: string) => boolean,
  signal: NodeJS.Signals,
  graceMs: number,
): Promise<void> {
  // As long as the command line is empty it is a zombie or gone, and neither holds files or ports.
  if (!isIt(commandLineOf(pid))) return
  signalIfThere(pid, signal)
  let deadline = Date.now() + graceMs
  let killed = false
  while (isIt(commandLineOf(pid))) {
    if (Date.now() > deadline) {
      if (killed) throw new Error(`process ${pid} of an earlier run does not end`)
      signalIfThere(pid, 'SIGKILL')
      killed = true
      deadline = Date.now() + 5_000
    }
    await sleep(50)
  }
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EPERM') {
      throw new Error(`process ${pid} of an earlier run under another user still runs; end it first`, {
        cause: error,
      })
    }
    if (code !== 'ESRCH') throw error
  }
}

/** Empty for a process that is a zombie or gone. */
export function commandLineOf(pid: number): string {
  if (process.platform === 'linux') {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    } catch {
      return ''
    }
  }
  return spawnSync('/bin/ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout
}

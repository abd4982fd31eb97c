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
  /** The signal that the process receives when this process dies for any reason. */
  signalOnOurDeath: NodeJS.Signals
  workingDirectory?: string
  owner?: { uid: number; gid: number }
}

/**
 * Starts an external program that ends with this process, even if this process is killed. The program leads its own
 * session, so that Ctrl-C reaches only this process, which then stops everything in order.
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

/** Wraps a command line so that the program receives the signal when this process dies, where supported. */
export function endingWithUs(
  line: CommandLine,
  signal: NodeJS.Signals,
  environment: Environment,
): CommandLine {
  if (!canFollowOurDeath(environment)) return line
  return ['setpriv', '--pdeathsig', signal.replace(/^SIG/, ''), '--', ...line]
}

// setpriv of util-linux replaces itself with the program, so the process id is that of the program. The setpriv of
// busybox lacks the option and macOS has no setpriv: there the next start cleans up after a killed run.
let setprivWorks: boolean | undefined
function canFollowOurDeath(environment: Environment): boolean {
  setprivWorks ??=
    process.platform === 'linux' &&
    spawnSync('setpriv', ['--pdeathsig', 'TERM', '--', 'true'], { env: { ...environment }, stdio: 'ignore' })
      .status === 0
  return setprivWorks
}

/**
 * The environment of external programs. Only listed variables are passed, because both servers read many others:
 * proxies (also for calls to the loopback worker), PG…, RESTATE_…, RUST_LOG.
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
 * Stops a process of an earlier run and waits for its end. The command line must match, because process ids are
 * reused.
 */
export async function stopLeftover(
  pid: number,
  matches: (commandLine: string) => boolean,
  signal: NodeJS.Signals,
  graceMs: number,
): Promise<void> {
  // A zombie has an empty command line. It holds no files or ports.
  if (!matches(commandLineOf(pid))) return
  signalIfThere(pid, signal)
  let deadline = Date.now() + graceMs
  let killed = false
  while (matches(commandLineOf(pid))) {
    if (Date.now() > deadline) {
      if (killed) throw new Error(`Process ${pid} of an earlier run does not end. Stop it and start again.`)
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
      throw new Error(`Process ${pid} of an earlier run belongs to another user. Stop it and start again.`, {
        cause: error,
      })
    }
    if (code !== 'ESRCH') throw error
  }
}

/** Empty if the process is a zombie or has ended. */
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

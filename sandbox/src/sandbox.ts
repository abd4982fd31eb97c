/**
 * Runs a media program on untrusted input, confined by bubblewrap: namespaces without a network and with the system's
 * programs, read-only; no environment, no /proc, no capabilities; only harmless system calls; limits of memory, processor
 * time, threads and files. /proc is absent because containers refuse to mount it, and media programs do not need it.
 */
import { execFile, spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'

import { systemCallFilter } from './system-call-filter.ts'

export interface Sandbox {
  bubblewrapPath: string
}

/** The sandbox does not work on this machine. The message says why and how to repair it. */
export class SandboxUnavailable extends Error {
  readonly reason: string
  readonly fix = fix

  constructor(reason: string) {
    super(`The sandbox for media programs does not work (${reason}). ${fix}`)
    this.reason = reason
  }
}

const fix =
  'Install bubblewrap, and let it create user namespaces: in a Docker container with --security-opt seccomp=deploy/seccomp.json, on Ubuntu with an AppArmor profile (docs/operating.md, "Sandbox").'

/** What a program in the sandbox can access and use. */
export interface Confined {
  program: string
  parameters: string[]
  /** Mounts besides the system's programs, as parameters of bubblewrap. */
  mounts: string[]
  environment?: Record<string, string>
  /** Above it, the program gets SIGXCPU, which ends it. */
  cpuSecondsMax: number
  /** The largest file that the program may write. */
  fileBytesMax: number
  /** The file descriptor to which bubblewrap writes the pid of the first process in the sandbox. */
  infoFd?: number
  /** A program that uses much processor time gets a low priority, and slows down neither the service nor short programs. */
  isLowPriority?: boolean
}

/** Address space. A decoder of 8K video needs about half of it. */
const memoryBytesMax = 4 * 1024 ** 3
/** Large machines have encoders with more than a hundred threads. Root is exempt; processes are forbidden to all. */
const threadsMax = 512
const openFilesMax = 256
/** A program that handles SIGXCPU is killed this much later. */
const cpuGraceSeconds = 2
const systemDirectories = ['/usr', '/lib', '/lib64', '/bin', '/etc/ld.so.cache', '/etc/alternatives']
const filter = systemCallFilter(process.arch)
const trialTimeoutMs = 20_000

const cpuParameter = (cpuSecondsMax: number) => {
  const cpuSeconds = Math.ceil(cpuSecondsMax)
  return `--cpu=${cpuSeconds}:${cpuSeconds + cpuGraceSeconds}`
}

/** The command that limits the CPU time of a program without a sandbox; empty where there is none. */
export const cpuLimit = (cpuSecondsMax: number): string[] =>
  process.platform === 'linux' ? ['prlimit', cpuParameter(cpuSecondsMax)] : []

const limits = ({ cpuSecondsMax, fileBytesMax }: Confined) => [
  ...['prlimit', `--as=${memoryBytesMax}`, `--nproc=${threadsMax}`, `--nofile=${openFilesMax}`, '--core=0'],
  ...[cpuParameter(cpuSecondsMax), `--fsize=${fileBytesMax}`],
]

const commandLine = ({ bubblewrapPath }: Sandbox, confined: Confined, filterFd: number) => [
  // bubblewrap itself would notice only later that the service has died.
  ...['setpriv', '--pdeathsig', 'KILL', '--'],
  // If memory runs out, the kernel kills this program and not the service.
  ...['choom', '-n', '1000', '--', bubblewrapPath],
  ...[
    '--unshare-all',
    '--uid',
    '65534',
    '--gid',
    '65534',
    '--die-with-parent',
    '--clearenv',
    '--cap-drop',
    'ALL',
  ],
  ...systemDirectories.flatMap((directory) => ['--ro-bind-try', directory, directory]),
  ...['--dev', '/dev', ...confined.mounts, '--remount-ro', '/dev', '--remount-ro', '/'],
  // Each arena of malloc reserves address space.
  ...['--setenv', 'MALLOC_ARENA_MAX', '4', '--setenv', 'PATH', '/usr/local/bin:/usr/bin:/bin'],
  ...Object.entries(confined.environment ?? {}).flatMap(([name, value]) => ['--setenv', name, value]),
  ...(filter === undefined ? [] : ['--seccomp', String(filterFd)]),
  ...(confined.infoFd === undefined ? [] : ['--info-fd', String(confined.infoFd)]),
  ...['--', ...limits(confined), confined.program, ...confined.parameters],
]

/** The command that runs a program with a low priority. */
export const lowPriority = ['nice', '-n', '4'] as const

/** The kernel may first divide the processors between sessions; then the priority of a process counts only within its own. */
const hasSessionPriorities = existsSync('/proc/self/autogroup')
/** Just below that of the service, and that of a program that needs more processor time than most. */
const sessionNiceness = { first: 2, later: 10 }
const shortCpuMs = 200
const lookEveryMs = 100
/** /proc counts processor time in hundredths of a second. */
const tickMs = 10

/** The processor time of a process and its descendants, in milliseconds. */
const cpuMsOf = (pid: number | string): number => {
  // The name in parentheses may contain spaces. Then follow the state and, as the 12th to 15th, the times.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * tickMs, 0)
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []
  return children.reduce((sum, child) => sum + cpuMsOf(child), own)
}

/**
 * Lowers the priority of the session that a program leads, and again once the program has used much processor time. The
 * time that has passed would not tell: on a busy machine short programs take long too, and lowered they would starve.
 */
const lowerSession = (program: ChildProcess) => {
  const lower = (niceness: number, afterCpuMs: number) => {
    try {
      if (cpuMsOf(program.pid ?? '') < afterCpuMs) return
      writeFileSync(`/proc/${program.pid}/autogroup`, String(niceness))
      if (niceness === sessionNiceness.later) stop()
    } catch {
      // A process has just ended, or the kernel refuses because it has changed many sessions just now.
    }
  }
  const timer = setInterval(() => lower(sessionNiceness.later, shortCpuMs), lookEveryMs)
  const stop = () => clearInterval(timer)
  program.once('exit', stop)
  program.once('error', stop)
  lower(sessionNiceness.first, 0)
}

/**
 * Runs a command, and kills its process group when the pipe is closed: by this process when the command has ended, or by
 * the kernel when this process has died. The death signals of setpriv and bubblewrap are faster, but each is set only after
 * a fork, and a process whose parent dies before that would survive.
 */
const endingWith = (pipeFd: number, command: string[]) => [
  ...['sh', '-c'],
  [
    `{ read -r _; kill -KILL 0; } <&${pipeFd} >/dev/null 2>&1 &`,
    `"$@" ${pipeFd}<&-; code=$?; kill -KILL $!; wait; exit $code`,
  ].join('\n'),
  ...['sh', ...command],
]

/**
 * Starts a program in the sandbox, in a session of its own: without a terminal, and unable to signal the processes of the
 * service. The last two file descriptors of the child are used internally.
 */
export const startSandboxed = (
  sandbox: Sandbox,
  confined: Confined,
  stdio: Exclude<StdioOptions, string>,
): ChildProcess => {
  const isLowPriority = confined.isLowPriority === true
  const [command = '', ...parameters] = [
    ...(isLowPriority && !hasSessionPriorities ? lowPriority : []),
    ...endingWith(stdio.length + 1, commandLine(sandbox, confined, stdio.length)),
  ]
  const child = spawn(command, parameters, { cwd: '/', stdio: [...stdio, 'pipe', 'pipe'], detached: true })
  child.once('exit', () => child.stdio[stdio.length + 1]?.destroy())
  if (isLowPriority && hasSessionPriorities) lowerSession(child)
  const filterInput = child.stdio[stdio.length] as Writable
  // If bubblewrap ends before it reads the filter, its exit code reports the failure.
  filterInput.on('error', () => undefined)
  filterInput.end(filter)
  return child
}

/** Whether a program failed because the sandbox could not be set up, given its error output. */
export const isSandboxFailure = (errorOutput: string): boolean =>
  /^(bwrap|choom|setpriv): |^prlimit: failed to set/.test(errorOutput)

/** Checks that the sandbox works: only a trial run shows whether namespaces are allowed. Throws `SandboxUnavailable`. */
export const findSandbox = async (bubblewrapPath: string): Promise<Sandbox> => {
  const found = await promisify(execFile)(bubblewrapPath, ['--version'], { timeout: trialTimeoutMs }).catch(
    (error: NodeJS.ErrnoException) => error,
  )
  if (found instanceof Error && found.code === 'ENOENT')
    throw new SandboxUnavailable(`${bubblewrapPath} was not found`)
  const trial: Confined = {
    program: 'prlimit',
    parameters: ['--version'],
    mounts: [],
    cpuSecondsMax: 10,
    fileBytesMax: 0,
  }
  const child = startSandboxed({ bubblewrapPath }, trial, ['ignore', 'ignore', 'pipe'])
  const timer = setTimeout(() => child.kill('SIGKILL'), trialTimeoutMs)
  let errorOutput = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-1_000)
  })
  const ending = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `it ended with ${signal ?? code}`))
  })
  clearTimeout(timer)
  if (ending !== '') throw new SandboxUnavailable(errorOutput.trim() || ending)
  return { bubblewrapPath }
}

/** The parameters that make the folder of a program visible, unless it is a folder of the system. */
export const mountOfProgram = (program: string): string[] => {
  const folder = program.slice(0, program.lastIndexOf('/'))
  const isVisible = systemDirectories.some((each) => `${folder}/`.startsWith(`${each}/`))
  return folder === '' || isVisible ? [] : ['--ro-bind-try', folder, folder]
}

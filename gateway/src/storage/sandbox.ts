/**
 * Runs a program of the ffmpeg family on a file that came from outside. The program sees nothing but that file:
 * no network, an empty environment and, where bubblewrap works, namespaces of its own. What it makes comes back
 * through its output, so it never has a place to write to.
 */
import { execFile, spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs the program on the file; `parameters` gets the path under which the program sees it. */
export type RunOnFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: { timeoutMs: number; outputBytesMax: number; signal?: AbortSignal },
) => Promise<Buffer>

/** What any of these programs may open: the one file, as one of the containers we keep, never a playlist. */
export const onlyVideoFiles = [
  ...['-protocol_whitelist', 'file'],
  ...['-format_whitelist', 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm'],
]

const startTimeoutMs = 20_000
/** Whoever waits for a file can wait a little longer; requests that need no program should not notice. */
const lowPriority = ['-n', '10']
/** How `nice` tells that the program is not there or may not be run. */
const notStarted = new Set([126, 127])
const complaintMax = 1_000
/** Where bubblewrap tells the id of the first process inside. */
const infoFd = 3
const systemDirectories = ['/usr', '/lib', '/lib64', '/bin', '/etc/ld.so.cache', '/etc/alternatives']

const sandboxed = (path: string) => [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
  ...systemDirectories.flatMap((directory) => ['--ro-bind-try', directory, directory]),
  ...['--proc', '/proc', '--dev', '/dev', '--ro-bind', path, '/video'],
]

/** Whether bubblewrap is there and allowed to make namespaces; containers often forbid it. */
const canSandbox = async (program: string): Promise<boolean> => {
  try {
    await run('bwrap', [...sandboxed('/dev/null'), program, '-version'], { timeout: startTimeoutMs })
    return true
  } catch {
    return false
  }
}

const createCommand = (program: string) => {
  // Tried out once there is something to run, so that no process waits for it to start.
  let sandboxing: Promise<boolean> | undefined
  return async (path: string, parameters: (path: string) => string[]) => {
    sandboxing ??= canSandbox(program)
    const isSandboxed = await sandboxing
    const inside = isSandboxed
      ? ['bwrap', '--info-fd', String(infoFd), ...sandboxed(path), program, ...parameters('/video')]
      : [program, ...parameters(path)]
    return { isSandboxed, command: 'nice', given: [...lowPriority, ...inside] }
  }
}

/**
 * Kills a program with everything in its sandbox. Bubblewrap alone is not enough: when it is killed before the sandbox
 * is set up, the program inside goes on without it. So the first process inside is killed, which ends all of them.
 */
const killerOf = (running: ChildProcess, info: Readable | undefined) => {
  let isWanted = false
  let isInfoOver = info === undefined
  let text = ''
  const kill = () => {
    isWanted = true
    if (running.pid === undefined || running.exitCode !== null || running.signalCode !== null) return
    const inside = /"child-pid":\s*(\d+)\b(?=\D)/.exec(text)?.[1]
    // It is told as soon as there is one.
    if (inside === undefined && !isInfoOver) return
    if (inside !== undefined) killProcess(Number(inside))
    running.kill('SIGKILL')
  }
  const onInfo = (isOver: boolean) => {
    isInfoOver ||= isOver
    if (isWanted) kill()
  }
  info?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    onInfo(false)
  })
  info?.on('close', () => onInfo(true))
  return kill
}

const killProcess = (pid: number) => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Runs the program on a file and hands on its output as it comes. Who stops reading ends the program. */
export type ReadOutputOfFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: { timeoutMs: number; signal?: AbortSignal },
) => AsyncGenerator<Buffer, void, undefined>

export const createOutputSandbox = (program: string): ReadOutputOfFile => {
  const commandFor = createCommand(program)
  return async function* (path, parameters, { timeoutMs, signal }) {
    const { command, given, isSandboxed } = await commandFor(path, parameters)
    signal?.throwIfAborted()
    const running = spawn(command, given, {
      stdio: ['ignore', 'pipe', 'pipe', ...(isSandboxed ? (['pipe'] as const) : [])],
      ...(!isSandboxed && { env: {} }),
    }) as ChildProcessByStdio<null, Readable, Readable>
    const kill = killerOf(running, running.stdio[infoFd] as Readable | undefined)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      kill()
    }, timeoutMs)
    signal?.addEventListener('abort', kill)
    let complaint = ''
    running.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-complaintMax)
    })
    // The output closes when no process of the program is left.
    const closed = new Promise<void>((resolve, reject) => {
      running.on('error', reject)
      running.on('close', (code, killedBy) => {
        if (code === 0) resolve()
        else {
          // Bubblewrap tells of a program that was killed by a code of its own, which is no verdict on the file.
          const ending = isLate
            ? 'SIGKILL'
            : code !== null && notStarted.has(code)
              ? 'ENOENT'
              : (code ?? killedBy)
          const message = `${program} ended with ${ending}: ${complaint}`
          reject(Object.assign(new Error(message), { code: ending, killed: isLate }))
        }
      })
    })
    closed.catch(() => undefined)
    try {
      yield* running.stdout as AsyncIterable<Buffer>
      await closed
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      kill()
      // A killed program has the processor until it is gone.
      await closed.catch(() => undefined)
    }
  }
}

export const createSandbox = (program: string): RunOnFile => {
  const outputOf = createOutputSandbox(program)
  return async (path, parameters, { outputBytesMax, ...limits }) => {
    const chunks: Buffer[] = []
    let sizeBytes = 0
    for await (const chunk of outputOf(path, parameters, limits)) {
      sizeBytes += chunk.length
      if (sizeBytes > outputBytesMax) {
        throw Object.assign(new Error(`${program} made more than ${outputBytesMax} bytes`), { killed: true })
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** The same, as lines, some at a time. */
export type ReadLinesOfFile = (
  ...given: Parameters<ReadOutputOfFile>
) => AsyncGenerator<string[], void, undefined>

export const createLineSandbox = (program: string): ReadLinesOfFile => {
  const outputOf = createOutputSandbox(program)
  return async function* (path, parameters, limits) {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of outputOf(path, parameters, limits)) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield lines
    }
  }
}

/** Whether the program itself found fault with the file; being absent or cut off says nothing about the file. */
export const isVerdict = (error: unknown): boolean => typeof (error as { code?: unknown }).code === 'number'

/**
 * Runs ffmpeg or ffprobe on an untrusted file. The program has no access to the network, an empty environment and, if
 * bubblewrap works, its own namespaces with only that file. Its result is read from its standard output, so it needs no
 * writable directory.
 */
import { execFile, spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs the program on a file. `parameters` receives the path of the file inside the sandbox. */
export type RunOnFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: { timeoutMs: number; outputBytesMax: number; signal?: AbortSignal },
) => Promise<Buffer>

/** Restricts ffmpeg to local files in supported containers. Playlists could open other files or URLs. */
export const onlyVideoFiles = [
  ...['-protocol_whitelist', 'file'],
  ...['-format_whitelist', 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm'],
]

const startTimeoutMs = 20_000
/** A low priority, so that these programs do not slow down other requests. */
const lowPriority = ['-n', '10']
/** Exit codes of `nice` if the program is missing or not executable. */
const notStarted = new Set([126, 127])
const errorOutputMax = 1_000
/** The file descriptor to which bubblewrap writes the pid of the first process in the sandbox. */
const infoFd = 3
const systemDirectories = ['/usr', '/lib', '/lib64', '/bin', '/etc/ld.so.cache', '/etc/alternatives']

const sandboxed = (path: string) => [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
  ...systemDirectories.flatMap((directory) => ['--ro-bind-try', directory, directory]),
  ...['--proc', '/proc', '--dev', '/dev', '--ro-bind', path, '/video'],
]

/** Whether bubblewrap is installed and may create namespaces, which containers often forbid. */
const canSandbox = async (program: string): Promise<boolean> => {
  try {
    await run('bwrap', [...sandboxed('/dev/null'), program, '-version'], { timeout: startTimeoutMs })
    return true
  } catch {
    return false
  }
}

const createCommand = (program: string) => {
  // Checked on the first run, so that it does not delay the start of the process.
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
 * Returns a function that kills a program and its sandbox. Killing bubblewrap is not enough: before the sandbox is set
 * up, the program would survive it. Killing the first process in the sandbox ends all of them.
 */
const killerOf = (running: ChildProcess, info: Readable | undefined) => {
  let isRequested = false
  let isInfoOver = info === undefined
  let text = ''
  const kill = () => {
    isRequested = true
    if (running.pid === undefined || running.exitCode !== null || running.signalCode !== null) return
    const inside = /"child-pid":\s*(\d+)\b(?=\D)/.exec(text)?.[1]
    // The pid is not known yet; `onInfo` calls this function again.
    if (inside === undefined && !isInfoOver) return
    if (inside !== undefined) killProcess(Number(inside))
    running.kill('SIGKILL')
  }
  const onInfo = (isOver: boolean) => {
    isInfoOver ||= isOver
    if (isRequested) kill()
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

/** Runs the program on a file and streams its output. The program is killed when the consumer stops reading. */
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
    let errorOutput = ''
    running.stderr.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-errorOutputMax)
    })
    // `close` is emitted when all processes of the program have ended.
    const closed = new Promise<void>((resolve, reject) => {
      running.on('error', reject)
      running.on('close', (code, killedBy) => {
        if (code === 0) resolve()
        else {
          // After a kill, bubblewrap exits with its own code, which must not count as an invalid file.
          const ending = isLate
            ? 'SIGKILL'
            : code !== null && notStarted.has(code)
              ? 'ENOENT'
              : (code ?? killedBy)
          const message = `${program} ended with ${ending}: ${errorOutput}`
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
      // Waits because a killed program uses the CPU until it has ended.
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
        throw Object.assign(new Error(`${program} wrote more than ${outputBytesMax} bytes`), { killed: true })
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** Like `ReadOutputOfFile`, in batches of lines. */
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

/** Whether the program rejected the file, as opposed to being missing, killed or aborted. */
export const isInvalidFileError = (error: unknown): boolean =>
  typeof (error as { code?: unknown }).code === 'number'

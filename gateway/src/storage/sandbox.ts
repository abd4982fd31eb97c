/**
 * Runs a program of the ffmpeg family on a file that came from outside. The program sees nothing but that file:
 * no network, an empty environment and, where bubblewrap works, namespaces of its own. What it makes comes back
 * through its output, so it never has a place to write to.
 */
import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs the program on the file; `parameters` gets the path under which the program sees it. */
export type RunOnFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: { timeoutMs: number; outputBytesMax: number },
) => Promise<Buffer>

/** What any of these programs may open: the one file, as one of the containers we keep, never a playlist. */
export const onlyVideoFiles = [
  ...['-protocol_whitelist', 'file'],
  ...['-format_whitelist', 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm'],
]

const startTimeoutMs = 20_000
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
    return (await sandboxing)
      ? { command: 'bwrap', given: [...sandboxed(path), program, ...parameters('/video')], options: {} }
      : { command: program, given: parameters(path), options: { env: {} } }
  }
}

export const createSandbox = (program: string): RunOnFile => {
  const commandFor = createCommand(program)
  return async (path, parameters, { timeoutMs, outputBytesMax }) => {
    const { command, given, options } = await commandFor(path, parameters)
    const { stdout } = await run(command, given, {
      encoding: 'buffer',
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: outputBytesMax,
      ...options,
    })
    return stdout
  }
}

/** The same for output that may be long: its bytes as they come. Who stops reading ends the program. */
export type ReadOutputOfFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: { timeoutMs: number },
) => AsyncGenerator<Buffer, void, undefined>

export const createOutputSandbox = (program: string): ReadOutputOfFile => {
  const commandFor = createCommand(program)
  return async function* (path, parameters, { timeoutMs }) {
    const { command, given, options } = await commandFor(path, parameters)
    const running = spawn(command, given, {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      ...options,
    })
    const ended = new Promise<void>((resolve, reject) => {
      running.on('error', reject)
      running.on('close', (code, signal) => {
        if (code === 0) resolve()
        else
          reject(
            Object.assign(new Error(`${program} ended with ${code ?? signal}`), { code: code ?? signal }),
          )
      })
    })
    ended.catch(() => undefined)
    try {
      yield* running.stdout as AsyncIterable<Buffer>
      await ended
    } finally {
      running.kill('SIGKILL')
    }
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

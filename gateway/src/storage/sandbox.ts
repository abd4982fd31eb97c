/**
 * Runs ffmpeg or ffprobe on an untrusted file. The program has no access to the network, an empty environment and, if
 * the sandbox works, nothing but that file. Its result is read from its standard output, so it needs no writable
 * directory.
 */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'
import {
  isSandboxFailure,
  cpuLimit,
  lowPriority,
  mountOfProgram,
  SandboxUnavailable,
  startSandboxed,
  type Sandbox,
} from '@kinora/sandbox/sandbox'

import { measure, secondsSince, type LabelsOf } from '../platform/metrics/metrics.ts'
import { mediaUnavailable, type MediaPrograms } from './media-programs.ts'

interface RunLimits {
  timeoutMs: number
  /** Default: what all threads of the program can use until the timeout. */
  cpuSecondsMax?: number
  signal?: AbortSignal
}

/** Runs the program on a file. `parameters` receives the path of the file inside the sandbox. */
export type RunOnFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: RunLimits & { outputBytesMax: number },
) => Promise<Buffer>

/** Restricts ffmpeg to local files in supported containers. Playlists could open other files or URLs. */
export const onlyVideoFiles = [
  ...['-protocol_whitelist', 'file'],
  ...['-format_whitelist', 'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm'],
]

/** Exit codes of the wrappers if the program is missing or not executable. */
const notStarted = new Set([126, 127])
/** The exit code of bubblewrap if the program was killed, which the kernel does when memory runs out. */
const killedCode = 137
/** The exit codes after the CPU limit: of bubblewrap if the program was ended by SIGXCPU, and of ffmpeg, which handles it. */
const cpuLimitCodes = new Set([152, 255])
const cpuLimitSignal = 'SIGXCPU'
const errorOutputMax = 1_000
/** Programs use up to two threads for decoding and two for encoding. */
const processorsMax = 4
const infoFd = 3

const start = (
  sandbox: Sandbox | undefined,
  program: string,
  path: string,
  parameters: (path: string) => string[],
  cpuSecondsMax: number,
) => {
  const running =
    sandbox === undefined
      ? spawn(
          lowPriority[0],
          [...lowPriority.slice(1), ...cpuLimit(cpuSecondsMax), program, ...parameters(path)],
          {
            stdio: ['ignore', 'pipe', 'pipe'],
            env: {},
          },
        )
      : startSandboxed(
          sandbox,
          {
            program,
            parameters: parameters('/video'),
            mounts: [...mountOfProgram(program), '--ro-bind', path, '/video'],
            cpuSecondsMax,
            fileBytesMax: 0,
            infoFd,
            isLowPriority: true,
          },
          ['ignore', 'pipe', 'pipe', 'pipe'],
        )
  return running as ChildProcessByStdio<null, Readable, Readable>
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

interface Ending {
  code: number | null
  killedBy: NodeJS.Signals | null
  errorOutput: string
  isLate: boolean
  isSandboxed: boolean
}

/** Only an error with a numeric code counts as an invalid file. */
const failureOf = (program: string, { code, killedBy, errorOutput, isLate, isSandboxed }: Ending): Error => {
  const failed = (ending: string | number | null) =>
    Object.assign(new Error(`${program} ended with ${ending}: ${errorOutput}`), {
      code: ending,
      killed: isLate,
      isLate,
    })
  if (isLate) return failed('SIGKILL')
  if (code !== null && notStarted.has(code)) return failed('ENOENT')
  if (code !== null && cpuLimitCodes.has(code)) return failed(cpuLimitSignal)
  if (isSandboxed && isSandboxFailure(errorOutput)) {
    return errorOutput.startsWith("bwrap: Can't find source path")
      ? failed('ENOENT')
      : mediaUnavailable(new SandboxUnavailable(errorOutput.trim()))
  }
  return code === killedCode || killedBy === 'SIGKILL'
    ? mediaUnavailable(failed('SIGKILL'))
    : failed(code ?? killedBy)
}

/** Runs the program on a file and streams its output. The program is killed when the consumer stops reading. */
export type ReadOutputOfFile = (
  path: string,
  parameters: (path: string) => string[],
  limits: RunLimits,
) => AsyncGenerator<Buffer, void, undefined>

type ProgramOutcome = NonNullable<LabelsOf<'kinora.media.program.duration'>['outcome']>

const outcomeOf = (error: unknown): ProgramOutcome => {
  if (isLateError(error)) return 'timeout'
  if (isCpuLimitError(error)) return 'cpu_limit'
  if (isInvalidFileError(error)) return 'invalid_file'
  return error instanceof ApiError && !(error.cause instanceof SandboxUnavailable) ? 'killed' : 'unavailable'
}

export const createOutputSandbox = (
  program: string,
  { findSandbox }: Pick<MediaPrograms, 'findSandbox'>,
): ReadOutputOfFile =>
  async function* (path, parameters, { timeoutMs, cpuSecondsMax, signal }) {
    const sandbox = await findSandbox()
    signal?.throwIfAborted()
    const startedMs = performance.now()
    const cpuSeconds = cpuSecondsMax ?? (processorsMax * timeoutMs) / 1000
    const running = start(sandbox, program, path, parameters, cpuSeconds)
    const kill = killerOf(running, sandbox && (running.stdio[infoFd] as unknown as Readable))
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      kill()
    }, timeoutMs)
    signal?.addEventListener('abort', kill)
    // A consumer that stops reading needs no more.
    let outcome: ProgramOutcome = 'done'
    let errorOutput = ''
    running.stderr.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-errorOutputMax)
    })
    // `close` is emitted when all processes of the program have ended.
    const closed = new Promise<void>((resolve, reject) => {
      running.on('error', reject)
      running.on('close', (code, killedBy) => {
        if (code === 0) resolve()
        else
          reject(
            failureOf(program, { code, killedBy, errorOutput, isLate, isSandboxed: sandbox !== undefined }),
          )
      })
    })
    closed.catch(() => undefined)
    try {
      yield* running.stdout as AsyncIterable<Buffer>
      await closed
      outcome = 'done'
    } catch (error) {
      outcome = signal?.aborted === true ? 'aborted' : outcomeOf(error)
      signal?.throwIfAborted()
      throw error
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      kill()
      // Waits because a killed program uses the CPU until it has ended.
      await closed.catch(() => undefined)
      measure('kinora.media.program.duration', secondsSince(startedMs), {
        // The path may have another name, which is the operator's.
        program: basename(program).includes('probe') ? 'ffprobe' : 'ffmpeg',
        outcome,
      })
    }
  }

export const createSandbox = (program: string, programs: Pick<MediaPrograms, 'findSandbox'>): RunOnFile => {
  const outputOf = createOutputSandbox(program, programs)
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

export const createLineSandbox = (
  program: string,
  programs: Pick<MediaPrograms, 'findSandbox'>,
): ReadLinesOfFile => {
  const outputOf = createOutputSandbox(program, programs)
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

/** Whether the program used more CPU time than it may. */
export const isCpuLimitError = (error: unknown): boolean =>
  (error as { code?: unknown }).code === cpuLimitSignal

/** Whether the program was still running at its timeout. */
export const isLateError = (error: unknown): boolean => (error as { isLate?: unknown }).isLate === true

/** Whether the program rejected the file, as opposed to being missing, killed or aborted. */
export const isInvalidFileError = (error: unknown): boolean =>
  typeof (error as { code?: unknown }).code === 'number'

import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { firstSourceDescriptor, type FrameSource } from '../drawing/film-graph.ts'
import { RenderFailure, sandboxProblemIn } from './render-failure.ts'
import { startProgram, type FfmpegTool } from './sandbox.ts'

const progressDescriptor = 3
/** ffmpeg is killed as hung after this long without a new frame. */
const hangTimeoutMs = 120_000
const errorLengthMax = 4000

export interface FfmpegRun {
  tool: FfmpegTool
  /** The only directory that it can write to, and the only one outside the system that it can read. */
  directory: string
  /** Names of read-only files in the directory. */
  readOnlyFiles?: string[]
  args: string[]
  sources?: FrameSource[]
  onFrame?(frame: number): void
  /** The message of the job's error when ffmpeg fails. */
  failureMessage: string
}

const running = new Map<ChildProcess, Promise<string>>()

/** Kills all ffmpeg processes and waits until they exit, so that none remains as a zombie. */
export async function stopFfmpeg(): Promise<void> {
  for (const child of running.keys()) killSandboxed(child)
  await Promise.all(running.values())
}

/**
 * Kills the process inside bubblewrap, so that bubblewrap cleans up and exits. Killing bubblewrap itself would orphan that
 * process.
 */
export function killSandboxed(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null) return
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    if (children[0] === '') child.kill('SIGKILL')
    else for (const inner of children) process.kill(Number(inner), 'SIGKILL')
    // The program may have stopped bubblewrap, which would then never exit.
    child.kill('SIGCONT')
  } catch {
    // Some kernels do not list child processes, and the process may have ended.
    child.kill('SIGKILL')
  }
}

export async function runFfmpeg(run: FfmpegRun): Promise<void> {
  const { sources = [] } = run
  const commonArgs = [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'],
    ...['-progress', `pipe:${progressDescriptor}`, '-stats_period', '0.2'],
  ]
  const child = startProgram(
    run.tool,
    run.directory,
    [...commonArgs, ...run.args],
    ['ignore', 'ignore', 'pipe', 'pipe', ...sources.map(() => 'pipe' as const)],
    run.readOnlyFiles,
  )
  const killChild = () => killSandboxed(child)
  const exit = exitOf(child)
  running.set(child, exit)
  process.once('exit', killChild)
  let hangTimer = setTimeout(killChild, hangTimeoutMs)
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-errorLengthMax)
  })
  watchFrames(child.stdio[progressDescriptor] as Readable, (frame) => {
    clearTimeout(hangTimer)
    hangTimer = setTimeout(killChild, hangTimeoutMs)
    run.onFrame?.(frame)
  })
  const feeding = sources.map((source, index) =>
    feed(source, child.stdio[firstSourceDescriptor + index] as Writable),
  )
  try {
    const outcome = await exit
    await Promise.all(feeding)
    if (outcome !== 'exit 0') {
      throw new RenderFailure('upstream_error', run.failureMessage, {
        detail: `ffmpeg ended with ${outcome}. ${sandboxProblemIn(errors)}`.trim(),
      })
    }
  } finally {
    clearTimeout(hangTimer)
    process.off('exit', killChild)
    running.delete(child)
  }
}

function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`error ${error.message}`))
    child.once('close', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit ${code}`))
  })
}

function watchFrames(progress: Readable, onFrame: (frame: number) => void): void {
  let pending = ''
  let last = -1
  progress.setEncoding('utf8').on('data', (text: string) => {
    const lines = (pending + text).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) {
      const frame = Number(/^frame=\s*(\d+)/u.exec(line)?.[1] ?? Number.NaN)
      if (frame > last) {
        last = frame
        onFrame(frame)
      }
    }
  })
}

async function feed(source: FrameSource, pipe: Writable): Promise<void> {
  // ffmpeg stops reading once it has all frames it needs, so a broken pipe is not a failure.
  await pipeline(Readable.from(framesOf(source)), pipe).catch(() => {})
}

function* framesOf(source: FrameSource): Generator<Buffer> {
  for (let frame = 0; frame < source.frameCount; frame++) {
    // A copy, because the source reuses its buffer for the next frame while this one is in the pipe.
    yield Buffer.from(source.paint(frame / source.framesPerSecond))
  }
}

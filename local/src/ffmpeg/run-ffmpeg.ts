import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { firstSourceDescriptor, type FrameSource } from '../drawing/film-graph.ts'
import { RenderFailure } from './render-failure.ts'
import { commandFor, type FfmpegTool } from './sandbox.ts'

const progressDescriptor = 3
/** ffmpeg that makes no new frame for this long is taken for hung. */
const standstillMs = 120_000
const keptErrorCharacters = 4000

export interface FfmpegRun {
  tool: FfmpegTool
  /** All it can write to, and all it can read besides the system. */
  directory: string
  /** Names of files in the directory that it may only read. */
  readOnlyFiles?: string[]
  args: string[]
  sources?: FrameSource[]
  onFrame?(frame: number): void
  /** What the caller is told when ffmpeg fails. */
  complaint: string
}

const underWay = new Map<ChildProcess, Promise<string>>()

/** Kills every ffmpeg and waits until it is gone, so that none is left as a zombie for whoever inherits it. */
export async function stopFfmpeg(): Promise<void> {
  for (const child of underWay.keys()) killSandboxed(child)
  await Promise.all(underWay.values())
}

/**
 * Bubblewrap waits for the process it has locked in. Killing that one lets bubblewrap clear up and end;
 * killing bubblewrap itself would orphan it.
 */
export function killSandboxed(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined || child.exitCode !== null) return
  try {
    const lockedIn = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    if (lockedIn[0] === '') child.kill('SIGKILL')
    else for (const inner of lockedIn) process.kill(Number(inner), 'SIGKILL')
  } catch {
    // Not every kernel lists them, and a process may end while one looks.
    child.kill('SIGKILL')
  }
}

export async function runFfmpeg(run: FfmpegRun): Promise<void> {
  const { sources = [] } = run
  const usualArgs = [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'],
    ...['-progress', `pipe:${progressDescriptor}`, '-stats_period', '0.2'],
  ]
  const { command, args, options } = commandFor(
    run.tool,
    run.directory,
    [...usualArgs, ...run.args],
    run.readOnlyFiles,
  )
  const child = spawn(command, args, {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...sources.map(() => 'pipe' as const)],
  })
  const killChild = () => killSandboxed(child)
  const running = ended(child)
  underWay.set(child, running)
  process.once('exit', killChild)
  let standstill = setTimeout(killChild, standstillMs)
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-keptErrorCharacters)
  })
  watchFrames(child.stdio[progressDescriptor] as Readable, (frame) => {
    clearTimeout(standstill)
    standstill = setTimeout(killChild, standstillMs)
    run.onFrame?.(frame)
  })
  const feeding = sources.map((source, index) =>
    feed(source, child.stdio[firstSourceDescriptor + index] as Writable),
  )
  try {
    const outcome = await running
    await Promise.all(feeding)
    if (outcome !== 'exit 0') {
      throw new RenderFailure('upstream_error', run.complaint, {
        detail: `ffmpeg ended with ${outcome}: ${errors.trim()}`,
      })
    }
  } finally {
    clearTimeout(standstill)
    process.off('exit', killChild)
    underWay.delete(child)
  }
}

function ended(child: ChildProcess): Promise<string> {
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
  // ffmpeg stops reading once it has the frames it needs; a broken pipe is no failure of ours.
  await pipeline(Readable.from(framesOf(source)), pipe).catch(() => {})
}

function* framesOf(source: FrameSource): Generator<Buffer> {
  for (let frame = 0; frame < source.frameCount; frame++) {
    // A copy, because the source paints into the same buffer again while this one waits in the pipe.
    yield Buffer.from(source.paint(frame / source.framesPerSecond))
  }
}

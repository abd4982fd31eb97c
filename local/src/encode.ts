import { spawn, type ChildProcess } from 'node:child_process'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { firstSourceDescriptor, type FilmGraph, type FrameSource } from './film-graph.ts'
import { framesPerSecond, type FilmShape } from './film-shape.ts'
import { sampleRate } from './music.ts'
import { RenderFailure } from './render-failure.ts'
import { commandFor, type FfmpegTool } from './sandbox.ts'

const progressDescriptor = 3
/** ffmpeg that makes no new frame for this long is taken for hung. */
const standstillMs = 120_000
const keptErrorCharacters = 4000

export interface EncodeOptions {
  tool: FfmpegTool
  directory: string
  shape: FilmShape
  graph: FilmGraph
  musicFileName: string
  outputFileName: string
  threads: number
  onFrame(frame: number): void
}

/** File names here are ours and relative to the work folder; nothing in them comes from a user. */
function ffmpegArgs(options: Omit<EncodeOptions, 'tool' | 'directory' | 'onFrame'>): string[] {
  const { shape, graph } = options
  const threads = String(options.threads)
  return [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'],
    ...graph.inputs.flat(),
    ...['-f', 's16le', '-ar', String(sampleRate), '-ac', '2', '-i', options.musicFileName],
    ...['-filter_complex_threads', threads, '-filter_complex', graph.filters.join(';')],
    ...['-map', `[${graph.picture}]`, '-map', `${graph.inputs.length}:a`],
    ...['-t', String(shape.seconds), '-r', String(framesPerSecond)],
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '22', '-profile:v', 'high', '-pix_fmt', 'yuv420p'],
    // Dark skies are where bands would show; this mode spends bits there.
    ...['-aq-mode', '3', '-g', String(framesPerSecond * 2), '-threads', threads],
    ...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'],
    ...['-c:a', 'aac', '-b:a', '128k', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-fflags', '+bitexact', '-flags:v', '+bitexact', '-flags:a', '+bitexact', '-movflags', '+faststart'],
    ...[
      '-progress',
      `pipe:${progressDescriptor}`,
      '-stats_period',
      '0.2',
      '-f',
      'mp4',
      options.outputFileName,
    ],
  ]
}

export async function encodeFilm(options: EncodeOptions): Promise<void> {
  const {
    command,
    args,
    options: spawnOptions,
  } = commandFor(options.tool, options.directory, ffmpegArgs(options))
  const { sources } = options.graph
  const child = spawn(command, args, {
    ...spawnOptions,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...sources.map(() => 'pipe' as const)],
  })
  const killChild = () => child.kill('SIGKILL')
  process.once('exit', killChild)
  let standstill = setTimeout(killChild, standstillMs)
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-keptErrorCharacters)
  })
  watchFrames(child.stdio[progressDescriptor] as Readable, (frame) => {
    clearTimeout(standstill)
    standstill = setTimeout(killChild, standstillMs)
    options.onFrame(frame)
  })
  const feeding = sources.map((source, index) =>
    feed(source, child.stdio[firstSourceDescriptor + index] as Writable),
  )
  try {
    const outcome = await ended(child)
    await Promise.all(feeding)
    if (outcome !== 'exit 0') {
      throw new RenderFailure('upstream_error', 'The video could not be encoded.', {
        detail: `ffmpeg ended with ${outcome}: ${errors.trim()}`,
      })
    }
  } finally {
    clearTimeout(standstill)
    process.off('exit', killChild)
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

import type { FilmGraph } from '../drawing/film-graph.ts'
import { framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { runFfmpeg } from '../ffmpeg/run-ffmpeg.ts'
import type { FfmpegTool } from '../ffmpeg/sandbox.ts'
import { sampleRate } from '../sound/music.ts'
import { textNote } from './text-note.ts'

export interface EncodeOptions {
  tool: FfmpegTool
  directory: string
  shape: FilmShape
  graph: FilmGraph
  /** Undefined for a film without sound. */
  soundFileName: string | undefined
  outputFileName: string
  threads: number
  onFrame(frame: number): void
}

/** All file names are fixed and relative to the work folder; none contains user input. */
function ffmpegArgs(options: Omit<EncodeOptions, 'tool' | 'directory' | 'onFrame'>): string[] {
  const { shape, graph, soundFileName } = options
  const threads = String(options.threads)
  return [
    ...graph.inputs.flat(),
    ...(soundFileName === undefined
      ? []
      : ['-f', 's16le', '-ar', String(sampleRate), '-ac', '2', '-i', soundFileName]),
    ...['-filter_complex_threads', threads, '-filter_complex', graph.filters.join(';')],
    ...['-map', `[${graph.image}]`],
    ...(soundFileName === undefined
      ? []
      : ['-map', `${graph.inputs.length}:a`, '-c:a', 'aac', '-b:a', '128k']),
    ...['-t', String(shape.seconds), '-r', String(framesPerSecond)],
    ...['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '22', '-profile:v', 'high', '-pix_fmt', 'yuv420p'],
    // This mode spends more bits on dark areas, where banding would be visible.
    ...['-aq-mode', '3', '-g', String(framesPerSecond * 2), '-threads', threads],
    ...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'],
    ...['-map_metadata', '-1', '-map_chapters', '-1'],
    ...['-metadata', `comment=${textNote(shape, graph.texts)}`],
    ...['-fflags', '+bitexact', '-flags:v', '+bitexact', '-movflags', '+faststart'],
    ...(soundFileName === undefined ? [] : ['-flags:a', '+bitexact']),
    ...['-f', 'mp4', options.outputFileName],
  ]
}

export async function encodeFilm(options: EncodeOptions): Promise<void> {
  await runFfmpeg({
    tool: options.tool,
    directory: options.directory,
    args: ffmpegArgs(options),
    sources: options.graph.sources,
    onFrame: (frame) => options.onFrame(frame),
    failureMessage: 'The video could not be encoded.',
  })
}

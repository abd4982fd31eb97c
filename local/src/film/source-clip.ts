import { copyFile, link, open, readFile } from 'node:fs/promises'
import path from 'node:path'

import type { Box } from '../drawing/film-graph.ts'
import { framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { RenderFailure } from '../ffmpeg/render-failure.ts'
import { runFfmpeg, type FfmpegRun } from '../ffmpeg/run-ffmpeg.ts'
import type { FfmpegTool } from '../ffmpeg/sandbox.ts'
import { sampleRate } from '../sound/music.ts'
import { notedTexts } from './text-note.ts'

const sourceName = 'source.video'
const clipName = 'clip.mp4'
const soundName = 'clip.s16'
const noteName = 'clip.txt'
const failureMessage = 'The source video could not be decoded.'
const pixelLimit = 40_000_000
/** The usual codecs of MP4 and WebM. All other decoders of ffmpeg are disabled for uploaded files. */
const decoders = [
  ...['h264', 'hevc', 'mpeg4', 'vp8', 'vp9', 'av1', 'libdav1d', 'libaom-av1', 'libvpx', 'libvpx-vp9'],
  ...['aac', 'mp3', 'mp3float', 'opus', 'libopus', 'vorbis', 'ac3', 'eac3', 'alac', 'flac', 'pcm_s16le'],
]

/** An uploaded video, re-encoded to the size and frame rate of the new film. */
export interface SourceClip {
  fileName: string
  frameCount: number
  /** Interleaved 16-bit stereo; empty if the video has no sound. */
  sound: Buffer
}

export interface SourceTask {
  source: string
  shape: FilmShape
  directory: string
  tool: FfmpegTool
  threads: number
}

/**
 * Decodes the source in separate runs of ffmpeg. Only these runs read the uploaded file, so their failures are caused by it;
 * the render reads the clip that is made here.
 */
export async function cutSource(task: SourceTask): Promise<SourceClip> {
  const { shape, directory } = task
  const container = await containerOf(task.source)
  if (container === undefined)
    throw new RenderFailure('upstream_error', 'The source is not an MP4 or WebM video.')
  const linked = path.join(directory, sourceName)
  // ffmpeg sees only the work folder, and a link avoids copying large files.
  await link(task.source, linked).catch(() => copyFile(task.source, linked))

  const input = [
    ...['-protocol_whitelist', 'file', '-format_whitelist', 'mov,mp4,matroska,webm', '-f', container],
    ...['-codec_whitelist', decoders.join(','), '-max_pixels', String(pixelLimit)],
    ...['-threads', String(task.threads), '-t', String(shape.seconds), '-i', sourceName],
  ]
  const run = { tool: task.tool, directory, readOnlyFiles: [sourceName], failureMessage }
  let frameCount = 0
  await runFfmpeg({
    ...run,
    args: [...input, ...clipArgs(shape, task.threads, await textsOf(run, input, task))],
    onFrame: (frame) => {
      frameCount = frame
    },
  })
  if (frameCount === 0) throw new RenderFailure('upstream_error', 'The source video has no frames.')
  return { fileName: clipName, frameCount, sound: await soundOf(run, input, directory) }
}

function clipArgs({ width, height, frameCount }: FilmShape, threads: number, texts: Box[]): string[] {
  const image = [
    `fps=${framesPerSecond}`,
    // Makes non-square pixels square; square pixels are unchanged.
    "scale=w='max(2,trunc(iw*sar/2)*2)':h=ih,setsar=1",
    `scale=${width}:${height}:force_original_aspect_ratio=increase:force_divisible_by=2:out_color_matrix=bt709:out_range=tv`,
    `crop=${width}:${height},setsar=1,format=yuv420p`,
    ...texts.map((box) => `delogo=x=${box.x}:y=${box.y}:w=${box.width}:h=${box.height}`),
  ].join(',')
  return [
    // A capital V excludes cover images.
    ...['-map', '0:V:0', '-vf', image, '-frames:v', String(frameCount), '-an', '-sn', '-dn'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '12', '-g', String(framesPerSecond)],
    ...['-threads', String(threads), '-map_metadata', '-1', '-map_chapters', '-1', '-f', 'mp4', clipName],
  ]
}

/** The boxes of caption and watermark, if this provider rendered the source. */
async function textsOf(run: Omit<FfmpegRun, 'args'>, input: string[], task: SourceTask): Promise<Box[]> {
  await runFfmpeg({ ...run, args: [...input, '-f', 'ffmetadata', noteName] })
  const metadata = await readFile(path.join(task.directory, noteName), 'utf8')
  return notedTexts(/^comment=(.*)$/imu.exec(metadata)?.[1] ?? '', task.shape)
}

async function soundOf(run: Omit<FfmpegRun, 'args'>, input: string[], directory: string): Promise<Buffer> {
  const output = [
    ...['-map', '0:a:0', '-vn', '-sn', '-dn', '-af', 'aresample=async=1:first_pts=0'],
    ...['-ar', String(sampleRate), '-ac', '2', '-f', 's16le', soundName],
  ]
  try {
    await runFfmpeg({ ...run, args: [...input, ...output] })
    return await readFile(path.join(directory, soundName))
  } catch {
    // Many videos have no sound, and a broken sound track must not fail the remix.
    return Buffer.alloc(0)
  }
}

/** Detected by the first bytes, so that ffmpeg does not probe the format. */
async function containerOf(file: string): Promise<'mov' | 'matroska' | undefined> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(12), 0, 12, 0)
    const start = buffer.subarray(0, bytesRead).toString('latin1')
    if (start.slice(4, 8) === 'ftyp') return 'mov'
    return start.startsWith('\x1a\x45\xdf\xa3') ? 'matroska' : undefined
  } finally {
    await handle.close()
  }
}

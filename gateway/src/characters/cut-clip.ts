/** Cuts the clip and the portrait of a character from a video. The portrait is a square image from its middle. */
import type { ProbeVideo } from '../storage/probe-video.ts'
import { isInvalidFileError, onlyVideoFiles, type RunOnFile } from '../storage/sandbox.ts'
import { spanWithin, type Span } from './character.ts'

export const portraitSide = 256
export const clipBytesMax = 64 * 1_048_576
const clipSide = 720
const sideMax = 8_192
const clipLimits = { timeoutMs: 45_000, outputBytesMax: clipBytesMax }
const portraitLimits = { timeoutMs: 20_000, outputBytesMax: 2 * 1_048_576 }

export interface CutClip {
  clip: Buffer
  portrait: Buffer
  width: number
  height: number
  durationMs: number
}

/** Why no clip was cut: the file is not a usable video, or it does not contain the requested span. */
export type Unusable = 'not-a-video' | 'no-such-part'

const opened = (path: string, startMs: number) => [
  ...['-v', 'error', '-nostdin', '-threads', '2', '-filter_threads', '2', ...onlyVideoFiles],
  ...['-ss', String(startMs / 1000), '-i', path, '-sn', '-dn'],
]

/** Both sides are even, and the longer one is at most `clipSide`. */
const clipSize = (width: number, height: number) => {
  const scale = Math.min(1, clipSide / Math.max(width, height))
  const even = (side: number) => Math.max(2, Math.round((side * scale) / 2) * 2)
  return { width: even(width), height: even(height) }
}

// The output is a pipe, which cannot seek, so the MP4 is fragmented.
const clipOf = (span: Span, size: { width: number; height: number }) => (path: string) => [
  ...opened(path, span.startMs),
  ...['-t', String((span.endMs - span.startMs) / 1000), '-map', '0:v:0', '-map', '0:a:0?'],
  ...['-vf', `fps=30,scale=${size.width}:${size.height},setsar=1`],
  ...[
    '-c:v',
    'libx264',
    '-preset',
    'veryfast',
    '-crf',
    '23',
    '-bf',
    '0',
    '-pix_fmt',
    'yuv420p',
    '-threads',
    '2',
  ],
  ...['-c:a', 'aac', '-ac', '2', '-b:a', '96k', '-map_metadata', '-1'],
  ...['-movflags', '+frag_keyframe+empty_moov+default_base_moof', '-f', 'mp4', 'pipe:1'],
]

const portraitOf = (atMs: number) => (path: string) => [
  ...[...opened(path, atMs), '-an', '-map', '0:v:0', '-frames:v', '1'],
  '-vf',
  `scale=w='ceil(iw*sar)':h=ih,crop=w='min(iw,ih)':h='min(iw,ih)',scale=${portraitSide}:${portraitSide}:flags=lanczos,setsar=1`,
  ...['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p', '-q:v', '3', '-f', 'image2pipe', 'pipe:1'],
]

/** Whether the program exceeded its time or output limit, which no regular video of a few seconds does. */
const exceedsLimits = (error: unknown) => (error as { killed?: unknown }).killed === true

export interface CutTools {
  probeVideo: ProbeVideo
  ffmpeg: RunOnFile
}

export const cutClip = async (
  { probeVideo, ffmpeg }: CutTools,
  path: string,
  wanted: Span | undefined,
  signal: AbortSignal,
): Promise<CutClip | Unusable> => {
  const probed = await probeVideo(path, signal)
  if (probed === undefined || Math.max(probed.width, probed.height) > sideMax) return 'not-a-video'
  const span = spanWithin(wanted, probed.durationMs)
  if (span === undefined) return 'no-such-part'
  const size = clipSize(probed.width, probed.height)
  try {
    const portrait = await ffmpeg(path, portraitOf((span.startMs + span.endMs) / 2), {
      ...portraitLimits,
      signal,
    })
    const clip = await ffmpeg(path, clipOf(span, size), { ...clipLimits, signal })
    if (portrait.length === 0 || clip.length === 0) return 'not-a-video'
    return { clip, portrait, ...size, durationMs: span.endMs - span.startMs }
  } catch (error) {
    // An aborted program is not a sign of a bad video.
    signal.throwIfAborted()
    if (isInvalidFileError(error) || exceedsLimits(error)) return 'not-a-video'
    throw error
  }
}

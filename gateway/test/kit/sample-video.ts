/** Generates real videos for tests that inspect them. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A moving test image with a tone. */
export const makeVideo = async (
  directory: string,
  { seconds = 5, size = '320x180' }: { seconds?: number; size?: string } = {},
): Promise<Buffer> => {
  const file = join(directory, `sample-${seconds}-${size}.mp4`)
  await run('ffmpeg', [
    ...['-v', 'error', '-y', '-f', 'lavfi', '-i', `testsrc2=s=${size}:r=24:d=${seconds}`],
    ...['-f', 'lavfi', '-i', `sine=d=${seconds}`, '-c:v', 'libx264', '-preset', 'ultrafast'],
    ...['-pix_fmt', 'yuv420p', '-c:a', 'aac', '-movflags', '+faststart', file],
  ])
  return readFile(file)
}

export interface Probed {
  width: number
  height: number
  codec: string
  /** Undefined for a silent video. */
  soundCodec: string | undefined
  seconds: number
}

/** Probes a file or URL with ffprobe. */
export const probe = async (source: string): Promise<Probed> => {
  const { stdout } = await run('ffprobe', [
    ...['-v', 'error', '-show_entries', 'stream=codec_type,codec_name,width,height:format=duration'],
    ...['-of', 'json', source],
  ])
  const { streams, format } = JSON.parse(stdout) as {
    streams: { codec_type: string; codec_name: string; width: number; height: number }[]
    format: { duration?: string }
  }
  const image = streams.find(({ codec_type }) => codec_type === 'video')
  const sound = streams.find(({ codec_type }) => codec_type === 'audio')
  if (image === undefined) throw new Error(`${source} has no video stream`)
  const { codec_name: codec, width, height } = image
  return { codec, soundCodec: sound?.codec_name, width, height, seconds: Number(format.duration ?? 0) }
}

import { copyFile, link, open, readFile } from 'node:fs/promises'
import path from 'node:path'

import { RenderFailure } from '../ffmpeg/render-failure.ts'
import { runFfmpeg } from '../ffmpeg/run-ffmpeg.ts'
import type { FfmpegTool } from '../ffmpeg/sandbox.ts'
import { sampleRate } from '../sound/music.ts'

const sourceName = 'soundtrack.audio'
const soundName = 'soundtrack.s16'
const decoders = [
  ...['aac', 'mp3', 'mp3float', 'opus', 'libopus', 'vorbis', 'alac', 'flac'],
  ...['pcm_s16le', 'pcm_s24le', 'pcm_s32le', 'pcm_f32le', 'pcm_u8'],
]

/** The containers of uploaded audio, by their first bytes, so that ffmpeg does not probe the format. */
const containers: { at: number; bytes: string; demuxer: string }[] = [
  { at: 0, bytes: 'RIFF', demuxer: 'wav' },
  { at: 0, bytes: 'fLaC', demuxer: 'flac' },
  { at: 0, bytes: 'OggS', demuxer: 'ogg' },
  { at: 0, bytes: '\x1a\x45\xdf\xa3', demuxer: 'matroska' },
  { at: 4, bytes: 'ftyp', demuxer: 'mov' },
  { at: 0, bytes: 'ID3', demuxer: 'mp3' },
  { at: 0, bytes: '\xff', demuxer: 'mp3' },
]

const containerOf = async (file: string): Promise<string | undefined> => {
  await using handle = await open(file, 'r')
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(12), 0, 12, 0)
  const start = buffer.subarray(0, bytesRead).toString('latin1')
  return containers.find(({ at, bytes }) => start.startsWith(bytes, at))?.demuxer
}

export interface SoundtrackTask {
  file: string
  seconds: number
  directory: string
  tool: FfmpegTool
}

/** Decodes an uploaded audio file to interleaved 16-bit stereo, up to the length of the film. */
export async function readSoundtrack({ file, seconds, directory, tool }: SoundtrackTask): Promise<Buffer> {
  const container = await containerOf(file)
  if (container === undefined)
    throw new RenderFailure('upstream_error', 'The soundtrack is not an audio file.')
  const linked = path.join(directory, sourceName)
  // ffmpeg sees only the work folder, and a link avoids copying.
  await link(file, linked).catch(() => copyFile(file, linked))
  await runFfmpeg({
    tool,
    directory,
    readOnlyFiles: [sourceName],
    failureMessage: 'The soundtrack could not be decoded.',
    args: [
      ...['-protocol_whitelist', 'file', '-format_whitelist', container, '-f', container],
      ...['-codec_whitelist', decoders.join(','), '-t', String(seconds), '-i', sourceName],
      ...[
        '-map',
        '0:a:0',
        '-vn',
        '-sn',
        '-dn',
        '-ar',
        String(sampleRate),
        '-ac',
        '2',
        '-f',
        's16le',
        soundName,
      ],
    ],
  })
  return readFile(path.join(directory, soundName))
}

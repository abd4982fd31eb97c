/** Short recordings in every accepted format, encoded by one run of ffmpeg. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface SampleRecording {
  name: string
  /** The accepted format, as the extension of the file. */
  format: string
  bytes: Buffer
}

const tone = (seconds: number, rate: number) => [
  ...['-f', 'lavfi', '-i', `aevalsrc='0.3*sin(2*PI*(180+60*t)*t)':s=${rate}:d=${seconds}`],
]
const film = ['-f', 'lavfi', '-i', 'testsrc=d=1:s=32x32:r=5']
const inputs = [tone(0.4, 16_000), tone(1.1, 44_100), tone(0.9, 8_000), film]

/** The file, the input, and the parameters of the encoder. */
const outputs: [file: string, input: number, ...parameters: string[]][] = [
  ['a.wav', 0, '-c:a', 'pcm_s16le'],
  ['b.wav', 1, '-c:a', 'pcm_s16le', '-ac', '2', '-f', 'wav', '-bitexact'],
  ['c.wav', 2, '-c:a', 'pcm_u8'],
  ['d.wav', 0, '-c:a', 'pcm_s24le', '-ac', '3'],
  ['e.wav', 1, '-c:a', 'adpcm_ms'],
  ['f.wav', 1, '-c:a', 'adpcm_ima_wav'],
  ['g.wav', 2, '-c:a', 'pcm_mulaw'],
  ['h.wav', 1, '-c:a', 'libmp3lame'],
  ['a.flac', 0],
  ['b.flac', 1, '-ac', '2', '-frame_size', '576'],
  ['a.mp3', 0],
  ['b.mp3', 1, '-write_xing', '0', '-id3v2_version', '0'],
  ['c.mp3', 2, '-b:a', '8k'],
  ['d.mp3', 1, '-c:a', 'mp2', '-f', 'mp2'],
  ['a.m4a', 0, '-c:a', 'aac'],
  ['b.m4a', 1, '-c:a', 'aac', '-ac', '2'],
  ['c.m4a', 1, '-c:a', 'alac'],
  ['a.mp4', 2, '-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov', '-frag_duration', '200000'],
  ['b.mp4', 1, '-c:a', 'libmp3lame'],
  ['c.mp4', 1, '-c:a', 'libopus', '-strict', '-2'],
  ['d.mp4', 0, '-c:a', 'libopus', '-frame_duration', '60', '-strict', '-2'],
  ['e.mp4', 0, '-c:a', 'flac', '-strict', '-2'],
  ['f.mp4', 1, '-map', '3:v', '-c:a', 'aac', '-c:v', 'mpeg4'],
  ['a.mpeg', 1, '-c:a', 'mp2', '-f', 'mpeg'],
  ['b.mpeg', 1, '-c:a', 'ac3', '-f', 'vob'],
  ['c.mpeg', 1, '-map', '3:v', '-c:a', 'mp2', '-c:v', 'mpeg2video', '-r', '25', '-f', 'mpeg'],
  ['a.ogg', 1, '-c:a', 'libvorbis'],
  ['b.ogg', 0, '-c:a', 'libopus', '-page_duration', '1'],
  ['c.ogg', 1, '-c:a', 'libopus', '-frame_duration', '20'],
  ['d.ogg', 0, '-c:a', 'flac', '-f', 'ogg', '-page_duration', '1'],
  ['e.ogg', 0, '-c:a', 'libspeex', '-ar', '16000'],
  ['a.webm', 1, '-c:a', 'libopus'],
  ['b.webm', 0, '-c:a', 'libopus', '-frame_duration', '60', '-cluster_time_limit', '200'],
  ['c.webm', 1, '-c:a', 'libvorbis', '-live', '1'],
]

export const makeSampleRecordings = async (directory: string): Promise<SampleRecording[]> => {
  const parameters = outputs.flatMap(([file, input, ...rest]) => [
    ...['-map', `${input}:a`, '-map_metadata', '-1', ...rest, file],
  ])
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-nostdin', ...inputs.flat(), ...parameters], {
    cwd: directory,
    timeout: 120_000,
  })
  return Promise.all(
    outputs.map(async ([file]) => ({
      name: file,
      format: file.slice(file.indexOf('.') + 1),
      bytes: await readFile(join(directory, file)),
    })),
  )
}

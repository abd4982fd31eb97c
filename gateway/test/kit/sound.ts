/** Test audio: a tone as WAV, or in any format that ffmpeg can encode. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { minutes } from './time-limits.ts'

const samplesPerSecond = 16_000

/** A tone of the given duration. */
export const wave = (seconds: number): Buffer => {
  const count = Math.round(seconds * samplesPerSecond)
  const samples = Int16Array.from({ length: count }, (_, at) =>
    Math.round(8_000 * Math.sin((2 * Math.PI * 220 * at) / samplesPerSecond)),
  )
  return waveOf(Buffer.from(samples.buffer))
}

export const waveOf = (samples: Buffer): Buffer => {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(samplesPerSecond, 24)
  head.writeUInt32LE(samplesPerSecond * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/** Encodes a WAV file with ffmpeg. The extension of `output`, such as `out.mp3`, determines the format. */
export const encoded = async (input: Buffer, output: string, parameters: string[] = []): Promise<Buffer> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-sound-'))
  try {
    await writeFile(join(directory, 'in.wav'), input)
    const given = ['-v', 'error', '-nostdin', '-i', 'in.wav', ...parameters, output]
    await promisify(execFile)('ffmpeg', given, { cwd: directory, timeout: minutes(1) })
    return await readFile(join(directory, output))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Repeats an encoded file without encoding it again. The extension of `output` is that of the file. */
export const repeated = async (input: Buffer, output: string, times: number): Promise<Buffer> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-sound-'))
  try {
    await writeFile(join(directory, `once-${output}`), input)
    const given = ['-v', 'error', '-nostdin', '-stream_loop', String(times - 1), '-i', `once-${output}`]
    await promisify(execFile)('ffmpeg', [...given, '-c', 'copy', '-strict', '-2', output], {
      cwd: directory,
      timeout: minutes(1),
    })
    return await readFile(join(directory, output))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** A form with an audio file. */
export const audioForm = (
  bytes: Buffer | undefined,
  fields: Record<string, string | string[]> = {},
  filename = 'speech.wav',
): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields))
    for (const each of [value].flat()) data.append(name, each)
  if (bytes !== undefined) data.append('file', new Blob([new Uint8Array(bytes)]), filename)
  return data
}

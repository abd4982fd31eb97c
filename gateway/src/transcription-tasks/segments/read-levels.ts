/** Measures the loudness of a recording over time by decoding it once. Only the levels are held in memory. */
import { open } from 'node:fs/promises'

import { audioFormatOf } from '../../audio/audio-format.ts'
import type { MediaPrograms } from '../../storage/media-programs.ts'
import { createOutputSandbox } from '../../storage/sandbox.ts'
import { levelMs } from './plan-cuts.ts'

interface Levels {
  /** The root mean square of each interval, on a scale to 32768. */
  levels: Float32Array
  /** The length of the decoded audio. */
  lengthMs: number
}

/** Measures at most `lengthMs` from `startMs` on, less at the end of the recording. */
export type ReadLevels = (path: string, startMs: number, lengthMs: number) => Promise<Levels>

const sampleRate = 8_000
const samplesPerLevel = (sampleRate * levelMs) / 1000
const limits = { timeoutMs: 300_000 }
const headBytes = 4_096

/** The complete samples at the beginning of some bytes. A typed array needs an aligned offset, else they are copied. */
const samplesIn = (bytes: Buffer): Int16Array => {
  const even = bytes.byteOffset % 2 === 0 ? bytes : Buffer.from(new Uint8Array(bytes).buffer)
  return new Int16Array(even.buffer, even.byteOffset, even.length >> 1)
}

/** The ffmpeg parameters to open a recording: only the demuxer that fits its first bytes, and only its audio. */
export const openedAs = async (path: string): Promise<(startMs: number, file: string) => string[]> => {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  const demuxer = audioFormatOf(buffer.subarray(0, bytesRead))?.demuxer
  if (demuxer === undefined) throw Object.assign(new Error('the recording is not an audio file'), { code: 1 })
  return (startMs, seen) => [
    ...['-v', 'quiet', '-nostdin', '-threads', '1', '-f', demuxer],
    ...['-protocol_whitelist', 'file', '-format_whitelist', demuxer],
    ...['-ss', String(startMs / 1000), '-i', seen, '-map', '0:a:0', '-vn', '-sn', '-dn'],
  ]
}

/** Fills gaps in the timeline with silence, so that positions in the output equal positions in the recording. */
export const atRate = (rate: number) => `aresample=${rate}:async=1:first_pts=0`

export const createReadLevels = (programs: MediaPrograms): ReadLevels => {
  const outputOf = createOutputSandbox(programs.ffmpegPath, programs)
  return async (path, startMs, lengthMs) => {
    const opened = await openedAs(path)
    const parameters = (file: string) => [
      ...[...opened(startMs, file), '-t', String(lengthMs / 1000)],
      ...['-af', atRate(sampleRate), '-ac', '1', '-ar', String(sampleRate), '-f', 's16le', 'pipe:1'],
    ]
    const levels = new Float32Array(Math.ceil(lengthMs / levelMs) + 1)
    let count = 0
    let squares = 0
    let inLevel = 0
    let odd: Buffer = Buffer.alloc(0)
    for await (const chunk of outputOf(path, parameters, limits)) {
      const bytes = odd.length === 0 ? chunk : Buffer.concat([odd, chunk])
      odd = bytes.subarray(bytes.length - (bytes.length % 2))
      const samples = samplesIn(bytes)
      // A plain loop, because it runs over hours of audio.
      for (let at = 0; at < samples.length; at += 1) {
        const sample = samples[at] ?? 0
        squares += sample * sample
        inLevel += 1
        if (inLevel < samplesPerLevel) continue
        levels[count] = Math.sqrt(squares / samplesPerLevel)
        count += 1
        squares = 0
        inLevel = 0
      }
    }
    if (inLevel > 0) levels[count] = Math.sqrt(squares / inLevel)
    return {
      levels: levels.subarray(0, inLevel > 0 ? count + 1 : count),
      lengthMs: Math.round(((count * samplesPerLevel + inLevel) * 1000) / sampleRate),
    }
  }
}

/** Cuts a segment from a recording as mono FLAC at 16 kHz, a small lossless file that every provider reads. */
import type { MediaPrograms } from '../../storage/media-programs.ts'
import { createSandbox } from '../../storage/sandbox.ts'
import type { RecordingSegment } from '../transcription-task.ts'
import { atRate, openedAs } from './read-levels.ts'

export type CutSegment = (path: string, segment: RecordingSegment) => Promise<Buffer>

const sampleRate = 16_000
const samplesPerMs = sampleRate / 1000
/** A decoder that starts in the middle of a recording needs some time until its output is correct. */
const runUpMs = 500
// Five minutes at 16 bits per sample are less than 10 MB before compression.
const limits = { timeoutMs: 60_000, outputBytesMax: 32 * 1_048_576 }

/** The offset of the sample count in the FLAC header. ffmpeg cannot seek back in a pipe to write it. */
const sampleCountAt = 22

export const createCutSegment = (programs: MediaPrograms): CutSegment => {
  const runOnFile = createSandbox(programs.ffmpegPath, programs)
  return async (path, { startMs, endMs }) => {
    const opened = await openedAs(path)
    const fromMs = Math.max(0, startMs - runUpMs)
    const before = (startMs - fromMs) * samplesPerMs
    const samples = (endMs - startMs) * samplesPerMs
    const end = before + samples
    const exactly = `apad=whole_len=${end},atrim=start_sample=${before}:end_sample=${end}`
    const flac = await runOnFile(
      path,
      (file) => [
        ...[...opened(fromMs, file), '-af', `${atRate(sampleRate)},${exactly}`, '-ac', '1'],
        ...['-ar', String(sampleRate), '-map_metadata', '-1', '-c:a', 'flac', '-f', 'flac', 'pipe:1'],
      ],
      limits,
    )
    if (flac.toString('latin1', 0, 4) !== 'fLaC') throw new Error('ffmpeg produced no FLAC file')
    flac.writeUInt32BE(samples, sampleCountAt)
    return flac
  }
}

/** Cuts one piece out of a recording, as the small file that every provider reads: mono, 16 kHz, nothing lost. */
import { createSandbox } from '../../storage/sandbox.ts'
import type { RecordingSegment } from '../transcription-task.ts'
import { atRate, openedAs } from './read-levels.ts'

export type CutSegment = (path: string, segment: RecordingSegment) => Promise<Buffer>

const sampleRate = 16_000
const samplesPerMs = sampleRate / 1000
/** A decoder that starts in the middle of a recording needs a moment before it is right. */
const runUpMs = 500
// Sixteen bits a sample are what it has before it is packed.
const limits = { timeoutMs: 60_000, outputBytesMax: 32 * 1_048_576 }

/** Where the head of a FLAC file says how many samples it has. Through a pipe nobody could go back to fill it in. */
const sampleCountAt = 22

export const createCutSegment = (ffmpegPath: string): CutSegment => {
  const runOnFile = createSandbox(ffmpegPath)
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
    if (flac.toString('latin1', 0, 4) !== 'fLaC') throw new Error('ffmpeg made no piece')
    flac.writeUInt32BE(samples, sampleCountAt)
    return flac
  }
}

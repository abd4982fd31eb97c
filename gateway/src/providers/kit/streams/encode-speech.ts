import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough, type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { ProviderFailure } from '../../port/failure.ts'
import type { SpeechJob } from '../../port/speech.ts'

export interface SpeechEncoding {
  /** Sample rate of the input: mono, signed 16 bit, little-endian. */
  rate: number
  format: SpeechJob['format']
  /** The factor by which the speech is sped up. */
  speed: number
}

/** Encoders without buffering. The length is not known in advance. */
const formats: Record<SpeechJob['format'], string[]> = {
  mp3: ['-c:a', 'libmp3lame', '-b:a', '96k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-b:a', '48k', '-page_duration', '20000', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-f', 'flac'],
  wav: ['-c:a', 'pcm_s16le', '-f', 'wav'],
  pcm: ['-c:a', 'pcm_s16le', '-f', 's16le'],
}

/** The sample rate of every output. */
export const samplesPerSecond = 24_000
const errorCharactersMax = 2000

/**
 * Encodes PCM samples while they arrive. Backpressure reaches the source. Destroying the output, or the signal, ends the
 * source and the encoder. Errors of the stream are `ProviderFailure`s, as those of the source must be.
 */
export function encodeSpeech(
  pcm: Readable,
  encoding: SpeechEncoding,
  ffmpegPath: string,
  signal: AbortSignal,
): Readable {
  const output = new PassThrough()
  const stop = new AbortController()
  const fail = (error: unknown) => output.destroy(failureFor(error))
  const abort = () => fail(signal.reason)
  signal.addEventListener('abort', abort)
  output.once('close', () => {
    signal.removeEventListener('abort', abort)
    stop.abort()
    pcm.destroy()
  })
  // An error may occur before a reader is attached; `errored` still has it.
  output.on('error', () => {})
  const isPlain = encoding.format === 'pcm' && encoding.speed === 1 && encoding.rate === samplesPerSecond
  if (signal.aborted) abort()
  else if (isPlain) pipeline(pcm, output, { end: false }).then(() => output.end(), fail)
  else encode(pcm, encoding, ffmpegPath, output, stop.signal).then(() => output.end(), fail)
  return output
}

function failureFor(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  return new ProviderFailure('unknown', `speech broke off: ${error instanceof Error ? error.name : 'error'}`)
}

async function encode(
  pcm: Readable,
  { rate, format, speed }: SpeechEncoding,
  ffmpegPath: string,
  output: PassThrough,
  stopped: AbortSignal,
): Promise<void> {
  const child = spawn(
    ffmpegPath,
    [
      ...['-hide_banner', '-loglevel', 'error', '-nostdin'],
      // The bytes come from a vendor, so ffmpeg must neither guess their format nor open other resources.
      ...['-protocol_whitelist', 'pipe', '-probesize', '32', '-analyzeduration', '0'],
      ...['-f', 's16le', '-ar', String(rate), '-ac', '1', '-i', 'pipe:0'],
      ...['-af', [...tempoFilters(speed), `aresample=${samplesPerSecond}`].join(',')],
      ...['-fflags', '+bitexact', '-flags:a', '+bitexact'],
      ...[...formats[format], '-flush_packets', '1', 'pipe:1'],
    ],
    { stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true },
  )
  const kill = () => child.kill('SIGKILL')
  stopped.addEventListener('abort', kill)
  let errorText = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(-errorCharactersMax)
  })
  const [ending, broken] = await Promise.all([
    endOf(child, ffmpegPath),
    pipeline(pcm, wholeSamples(), child.stdin).then(
      () => undefined,
      (error: unknown) => {
        // A truncated speech must not look complete.
        if (error instanceof ProviderFailure) kill()
        return error
      },
    ),
    pipeline(child.stdout, output, { end: false }).catch(kill),
  ])
  if (broken instanceof ProviderFailure) throw broken
  if (ending instanceof ProviderFailure) throw ending
  if (ending !== 'exit 0') {
    throw new ProviderFailure('unknown', `ffmpeg ended with ${ending}: ${errorText.trim()}`)
  }
  if (broken !== undefined) throw broken
}

/** Drops half a sample at the end, which ffmpeg would report as an error. */
function wholeSamples(): Transform {
  let half = Buffer.alloc(0)
  return new Transform({
    transform: (chunk: Buffer, _encoding, callback) => {
      const bytes = half.length === 0 ? chunk : Buffer.concat([half, chunk])
      const end = bytes.length - (bytes.length % 2)
      half = Buffer.from(bytes.subarray(end))
      callback(null, bytes.subarray(0, end))
    },
  })
}

function endOf(child: ChildProcess, ffmpegPath: string): Promise<string | ProviderFailure> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      const { code } = error as NodeJS.ErrnoException
      const message =
        code === 'ENOENT' || code === 'EACCES'
          ? `ffmpeg was not found at '${ffmpegPath}': install it, or set FFMPEG_PATH`
          : `ffmpeg did not start: ${code ?? error.name}`
      resolve(new ProviderFailure('rejected', message, { code: 'service_unavailable' }))
    })
    child.once('close', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit ${code}`))
  })
}

/** One atempo filter changes the tempo by at most a factor of two; beyond that it would skip samples. */
function tempoFilters(speed: number): string[] {
  const filters: string[] = []
  let left = speed
  while (left < 0.5 || left > 2) {
    const step = left < 1 ? 0.5 : 2
    filters.push(`atempo=${step}`)
    left /= step
  }
  return left === 1 ? filters : [...filters, `atempo=${left}`]
}

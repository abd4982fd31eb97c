import { type ChildProcess, spawn } from 'node:child_process'
import { PassThrough, type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { ProviderFailure } from '../../port/failure.ts'
import type { SpeechJob } from '../../port/speech.ts'

/** What a speech is to become. */
export interface SpeechEncoding {
  /** Samples per second of what comes in: one channel of signed 16 bit samples, the low byte first. */
  rate: number
  format: SpeechJob['format']
  /** How much faster it is to be said than it was. */
  speed: number
}

/** Encoders set up to give away each packet at once. None is told the length, because nobody knows it yet. */
const formats: Record<SpeechJob['format'], string[]> = {
  mp3: ['-c:a', 'libmp3lame', '-b:a', '96k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
  opus: ['-c:a', 'libopus', '-b:a', '48k', '-page_duration', '20000', '-f', 'ogg'],
  aac: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'],
  flac: ['-c:a', 'flac', '-f', 'flac'],
  wav: ['-c:a', 'pcm_s16le', '-f', 'wav'],
  pcm: ['-c:a', 'pcm_s16le', '-f', 's16le'],
}

/** What every format is made with, and what plain samples always have. */
export const samplesPerSecond = 24_000
const keptErrorCharacters = 2000

/**
 * Makes plain samples into the format a caller wants, as they come. A reader that stops reading holds up the source; one
 * that goes away, like the signal, ends the source and the encoder. What goes wrong is an error of the stream, and a
 * `ProviderFailure`, which the source's own must be as well.
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
  const leave = () => fail(signal.reason)
  signal.addEventListener('abort', leave)
  output.once('close', () => {
    signal.removeEventListener('abort', leave)
    stop.abort()
    pcm.destroy()
  })
  // An error may come before anybody reads, and then it is still found on the stream.
  output.on('error', () => {})
  const isPlain = encoding.format === 'pcm' && encoding.speed === 1 && encoding.rate === samplesPerSecond
  if (signal.aborted) leave()
  else if (isPlain) pipeline(pcm, output, { end: false }).then(() => output.end(), fail)
  else carry(pcm, encoding, ffmpegPath, output, stop.signal).then(() => output.end(), fail)
  return output
}

function failureFor(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  return new ProviderFailure('unknown', `speech broke off: ${error instanceof Error ? error.name : 'error'}`)
}

async function carry(
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
      // The bytes are a vendor's, so the program is told what they are and may open nothing else.
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
  let vendorError = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    vendorError = (vendorError + text).slice(-keptErrorCharacters)
  })
  const [ending, broken] = await Promise.all([
    endOf(child, ffmpegPath),
    pipeline(pcm, wholeSamples(), child.stdin).then(
      () => undefined,
      (error: unknown) => {
        // What is made of the beginning must not pass for the whole.
        if (error instanceof ProviderFailure) kill()
        return error
      },
    ),
    pipeline(child.stdout, output, { end: false }).catch(kill),
  ])
  if (broken instanceof ProviderFailure) throw broken
  if (ending instanceof ProviderFailure) throw ending
  if (ending !== 'exit 0') {
    throw new ProviderFailure('unknown', `ffmpeg ended with ${ending}: ${vendorError.trim()}`)
  }
  if (broken !== undefined) throw broken
}

/** Leaves out half a sample at the end, which the program would call an error. */
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
          ? `there is no ffmpeg at '${ffmpegPath}': install it, or set FFMPEG_PATH to where it is`
          : `ffmpeg did not start: ${code ?? error.name}`
      resolve(new ProviderFailure('rejected', message, { code: 'service_unavailable' }))
    })
    child.once('close', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit ${code}`))
  })
}

/** One filter changes the pace by at most two; beyond that it would leave out samples. */
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

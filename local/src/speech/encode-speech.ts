import type { ChildProcess } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import { startProgram, type FfmpegTool } from '../ffmpeg/sandbox.ts'

/** Mono sound of signed 16-bit samples. */
export interface Sound {
  samplesPerSecond: number
  samples: (signal: AbortSignal) => AsyncIterable<Buffer>
}

interface Format {
  contentType: string
  args: string[]
}

const plainSamples: Format = {
  contentType: 'audio/pcm',
  args: ['-c:a', 'pcm_s16le', '-f', 's16le'],
}

/** Encoder arguments that flush each packet at once. The length is unknown, so no header contains it. */
export const speechFormats = new Map<string, Format>([
  [
    'mp3',
    {
      contentType: 'audio/mpeg',
      args: ['-c:a', 'libmp3lame', '-b:a', '96k', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
    },
  ],
  [
    'opus',
    {
      contentType: 'audio/ogg',
      args: ['-c:a', 'libopus', '-b:a', '48k', '-page_duration', '20000', '-f', 'ogg'],
    },
  ],
  ['aac', { contentType: 'audio/aac', args: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'] }],
  ['flac', { contentType: 'audio/flac', args: ['-c:a', 'flac', '-f', 'flac'] }],
  ['wav', { contentType: 'audio/wav', args: ['-c:a', 'pcm_s16le', '-f', 'wav'] }],
  ['pcm', plainSamples],
  ['pcm16', plainSamples],
])

const samplesPerSecond = 24_000
const errorTailCharacters = 4000

export interface SpeechEncoding {
  tool: FfmpegTool
  /** An empty folder, the only one that ffmpeg may write to. */
  directory: string
  format: Format
  speed: number
}

/**
 * Encodes sound while it is generated. A reader that stops reading pauses the generation. Destroying the stream or
 * aborting the signal ends everything.
 */
export function encodeSpeech(encoding: SpeechEncoding, sound: Sound, signal: AbortSignal): Readable {
  const stop = new AbortController()
  const stopped = AbortSignal.any([signal, stop.signal])
  const output = new PassThrough()
  output.once('close', () => stop.abort())
  void carry(encoding, sound, output, stopped).then(
    () => output.end(),
    (error: unknown) => output.destroy(error as Error),
  )
  return output
}

async function carry(
  { tool, directory, format, speed }: SpeechEncoding,
  sound: Sound,
  output: PassThrough,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const args = [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin'],
    ...['-probesize', '32', '-analyzeduration', '0'],
    ...['-f', 's16le', '-ar', String(sound.samplesPerSecond), '-ac', '1', '-i', 'pipe:0'],
    ...['-af', [...tempoFilters(speed), `aresample=${samplesPerSecond}`].join(',')],
    ...['-fflags', '+bitexact', '-flags:a', '+bitexact'],
    ...[...format.args, '-flush_packets', '1', 'pipe:1'],
  ]
  const child = startProgram(tool, directory, args, ['pipe', 'pipe', 'pipe'])
  const kill = () => killSandboxed(child)
  const fed = new AbortController()
  signal.addEventListener('abort', kill)
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-errorTailCharacters)
  })
  const ending = ended(child).finally(() => fed.abort())
  try {
    const [outcome, failure] = await Promise.all([
      ending,
      feed(sound, child, AbortSignal.any([signal, fed.signal])),
      pipeline(child.stdout!, output, { end: false }).catch(kill),
    ])
    signal.throwIfAborted()
    if (outcome !== 'exit 0') throw new Error(`ffmpeg ended with ${outcome}: ${errors.trim()}`)
    if (failure !== undefined) throw failure
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

/** Returns the error of the sound, if any. ffmpeg then ends itself, because its input has ended. */
async function feed(sound: Sound, child: ChildProcess, signal: AbortSignal): Promise<Error | undefined> {
  try {
    await pipeline(Readable.from(sound.samples(signal), { objectMode: false }), child.stdin!)
    return undefined
  } catch (error) {
    return error as Error
  }
}

function ended(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`error ${error.message}`))
    child.once('close', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit ${code}`))
  })
}

/** Several filters, because one that changes the speed by more than a factor of two skips samples. */
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

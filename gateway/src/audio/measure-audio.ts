/**
 * Detects the format and the duration of an audio file. ffprobe runs with the one demuxer that fits the first bytes.
 * The duration is summed up from the packets: headers may contain any value, and decoding would be expensive for hours
 * of silence in a small file.
 */
import { open } from 'node:fs/promises'

import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import type { MediaPrograms } from '../storage/media-programs.ts'
import { createLineSandbox, isInvalidFileError } from '../storage/sandbox.ts'
import { audioFormatOf, type AudioFormat } from './audio-format.ts'
import { measureWave } from './measure-wave.ts'

interface MeasuredAudio extends AudioFormat {
  durationSeconds: number
}

/** Measures a file. ffprobe runs as media work only. An unusable file is an error of the parameter `param`. */
export type MeasureAudio = (
  path: string,
  param: string,
  mediaWork: Call['mediaWork'],
) => Promise<MeasuredAudio>

export interface MeasureAudioSettings {
  programs: MediaPrograms
  secondsMax: number
  /** Advice in the error for a longer file; by default, to use a transcription task. */
  adviceForLonger?: string
}

const headBytes = 4_096
/** Enough packets to see whether the stream decodes at all. */
const triedPackets = 24
/** A limit against files that are expensive to count. Usual packets last 20 ms or longer. */
const packetsPerSecondMax = 100
/** The first and the last packet may be shorter than the others. */
const tolerance = 0.9

/** Codecs whose packets all contain the same number of samples, whatever durations the file states. */
const evenCodecs = new Set(['aac', 'mp3', 'mp2', 'mp1', 'alac'])

interface AudioStream {
  codec: string
  sampleRate: number
  /** The maximum over the first packets. */
  samplesPerPacket: number
}

const notAudio = (param: string) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' must be an audio file in one of these formats: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm.`,
  })

const unreadable = (param: string, cause?: unknown) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' contains no audio that can be decoded.`,
    ...(cause !== undefined && { cause }),
  })

const readHead = async (path: string): Promise<Buffer> => {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return buffer.subarray(0, bytesRead)
}

const probeOnly = (demuxer: string) => [
  ...['-v', 'quiet', '-f', demuxer, '-protocol_whitelist', 'file', '-format_whitelist', demuxer],
  ...['-select_streams', 'a:0', '-of', 'default=noprint_wrappers=1'],
]

const isAbort = (error: unknown): boolean => (error as { name?: unknown }).name === 'AbortError'

const numberIn = (line: string): number => Number(line.slice(line.indexOf('=') + 1))

/** Creates the function. If ffprobe cannot run, the error is `service_unavailable` and does not blame the file. */
export const createMeasureAudio = ({
  programs,
  secondsMax,
  adviceForLonger = 'Split it, or send it to /v1/audio/transcription-tasks.',
}: MeasureAudioSettings): MeasureAudio => {
  const linesOf = createLineSandbox(programs.ffprobePath, programs)
  const timeoutMs = 30_000 + secondsMax * 5

  const tooLong = (param: string) =>
    new ApiError('invalid_parameter', {
      param,
      message: `'${param}' is longer than ${secondsMax} seconds. ${adviceForLonger}`,
    })

  /** Decodes the first packets; undefined if that yields no samples. */
  const probeStream = async (
    path: string,
    demuxer: string,
    signal: AbortSignal,
  ): Promise<AudioStream | undefined> => {
    const parameters = (file: string) => [
      ...probeOnly(demuxer),
      ...['-read_intervals', `%+#${triedPackets}`],
      ...['-show_entries', 'stream=codec_name,sample_rate:frame=nb_samples', file],
    ]
    const stream: AudioStream = { codec: '', sampleRate: 0, samplesPerPacket: 0 }
    for await (const lines of linesOf(path, parameters, { timeoutMs, signal })) {
      for (const line of lines) {
        if (line.startsWith('codec_name=')) stream.codec = line.slice(11)
        else if (line.startsWith('sample_rate=')) stream.sampleRate = numberIn(line)
        else if (line.startsWith('nb_samples='))
          stream.samplesPerPacket = Math.max(stream.samplesPerPacket, numberIn(line))
      }
    }
    return stream.samplesPerPacket > 0 && stream.sampleRate > 0 ? stream : undefined
  }

  /** Sums up the packet durations the file states, unless the codec proves that they are longer. */
  const countPackets = async (
    path: string,
    demuxer: string,
    stream: AudioStream,
    param: string,
    signal: AbortSignal,
  ): Promise<number> => {
    const parameters = (file: string) => [
      ...probeOnly(demuxer),
      ...['-show_entries', 'packet=duration_time', file],
    ]
    const secondsEach = evenCodecs.has(stream.codec) ? stream.samplesPerPacket / stream.sampleRate : 0
    let packets = 0
    let statedSeconds = 0
    for await (const lines of linesOf(path, parameters, { timeoutMs, signal })) {
      for (const line of lines) {
        if (!line.startsWith('duration_time=')) continue
        packets += 1
        const seconds = numberIn(line)
        if (seconds > 0) statedSeconds += seconds
      }
      const isTooLong = Math.max(statedSeconds, packets * secondsEach * tolerance) > secondsMax
      if (isTooLong || packets > secondsMax * packetsPerSecondMax) throw tooLong(param)
    }
    return statedSeconds < packets * secondsEach * tolerance ? packets * secondsEach : statedSeconds
  }

  /** Counts samples by decoding all of it; only used if neither the file nor its codec gives a reliable duration. */
  const countSamples = async (
    path: string,
    demuxer: string,
    stream: AudioStream,
    param: string,
    signal: AbortSignal,
  ): Promise<number> => {
    const parameters = (file: string) => [...probeOnly(demuxer), '-show_entries', 'frame=nb_samples', file]
    let samples = 0
    for await (const lines of linesOf(path, parameters, { timeoutMs, signal })) {
      for (const line of lines) if (line.startsWith('nb_samples=')) samples += numberIn(line)
      if (samples > secondsMax * stream.sampleRate) throw tooLong(param)
    }
    return samples / stream.sampleRate
  }

  const probe = async (
    path: string,
    demuxer: string,
    param: string,
    signal: AbortSignal,
  ): Promise<number> => {
    const stream = await probeStream(path, demuxer, signal)
    if (stream === undefined) throw unreadable(param)
    // MP4 is the only container whose packet durations are independent of the content.
    const isUnverified = demuxer === 'mov' && !evenCodecs.has(stream.codec)
    return (isUnverified ? countSamples : countPackets)(path, demuxer, stream, param, signal)
  }

  const measure = async (
    path: string,
    demuxer: string,
    param: string,
    mediaWork: Call['mediaWork'],
  ): Promise<number> => {
    const waveSeconds = demuxer === 'wav' ? await measureWave(path) : undefined
    const seconds = waveSeconds ?? (await mediaWork((signal) => probe(path, demuxer, param, signal)))
    if (seconds > secondsMax) throw tooLong(param)
    // Less would be rounded to zero.
    if (!(seconds >= 0.0005)) throw unreadable(param)
    return Math.round(seconds * 1000) / 1000
  }

  return async (path, param, mediaWork) => {
    const known = audioFormatOf(await readHead(path))
    if (known === undefined) throw notAudio(param)
    const { demuxer, ...format } = known
    try {
      return { ...format, durationSeconds: await measure(path, demuxer, param, mediaWork) }
    } catch (error) {
      if (error instanceof ApiError || isAbort(error)) throw error
      if (isInvalidFileError(error)) throw unreadable(param, error)
      throw new ApiError('service_unavailable', {
        message: 'Audio files cannot be processed at the moment. Try again later.',
        cause: error,
      })
    }
  }
}

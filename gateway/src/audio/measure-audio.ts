/**
 * Finds out what a recording is and how long it plays. What it is shows by its first bytes, and ffprobe is let at it
 * as that alone. How long it plays is counted from its packets: headers may say anything, and decoding would hand the
 * work to whoever sends hours of silence in a small file.
 */
import { open } from 'node:fs/promises'

import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import { createLineSandbox, isVerdict } from '../storage/sandbox.ts'
import { audioFormatOf, type AudioFormat } from './audio-format.ts'
import { measureWave } from './measure-wave.ts'

interface MeasuredAudio extends AudioFormat {
  durationSeconds: number
}

/** Measures the file, with a program only as media work, or says what is wrong with the parameter it came by. */
export type MeasureAudio = (
  path: string,
  param: string,
  mediaWork: Call['mediaWork'],
) => Promise<MeasuredAudio>

export interface MeasureAudioSettings {
  ffprobePath: string
  secondsMax: number
  /** What to do about a longer one, where it is not to send it to a transcription task. */
  adviceForLonger?: string
}

const headBytes = 4_096
/** Enough to see that it decodes at all. */
const triedPackets = 24
/** More pieces than this make work for us and nobody else: the usual ones are of 20 ms and more. */
const packetsPerSecondMax = 100
/** The first and the last packet may count for less than they hold. */
const tolerance = 0.9

/** Codecs whose packets all hold equally many samples, whatever the file says of the time they take. */
const evenCodecs = new Set(['aac', 'mp3', 'mp2', 'mp1', 'alac'])

interface Heard {
  codec: string
  sampleRate: number
  /** The most that one of the first packets turned out to hold. */
  samplesPerPacket: number
}

const notAudio = (param: string) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' is no audio in one of these formats: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm.`,
  })

const unreadable = (param: string, cause?: unknown) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' has no sound that can be read.`,
    ...(cause !== undefined && { cause }),
  })

const readHead = async (path: string): Promise<Buffer> => {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return buffer.subarray(0, bytesRead)
}

const only = (demuxer: string) => [
  ...['-v', 'quiet', '-f', demuxer, '-protocol_whitelist', 'file', '-format_whitelist', demuxer],
  ...['-select_streams', 'a:0', '-of', 'default=noprint_wrappers=1'],
]

/** Whether nobody waits for it any more. */
const isAbort = (error: unknown): boolean => (error as { name?: unknown }).name === 'AbortError'

const numberIn = (line: string): number => Number(line.slice(line.indexOf('=') + 1))

/** Makes the measure. A file that cannot be measured for reasons of ours is nobody's fault and says so. */
export const createMeasureAudio = ({
  ffprobePath,
  secondsMax,
  adviceForLonger = 'Split it, or send it to /v1/audio/transcription-tasks.',
}: MeasureAudioSettings): MeasureAudio => {
  const linesOf = createLineSandbox(ffprobePath)
  const timeoutMs = 30_000 + secondsMax * 5

  const tooLong = (param: string) =>
    new ApiError('invalid_parameter', {
      param,
      message: `'${param}' plays longer than ${secondsMax} seconds. ${adviceForLonger}`,
    })

  /** What the first packets turn out to be once they are decoded. */
  const hear = async (path: string, demuxer: string, signal: AbortSignal): Promise<Heard | undefined> => {
    const question = (file: string) => [
      ...only(demuxer),
      ...['-read_intervals', `%+#${triedPackets}`],
      ...['-show_entries', 'stream=codec_name,sample_rate:frame=nb_samples', file],
    ]
    const heard: Heard = { codec: '', sampleRate: 0, samplesPerPacket: 0 }
    for await (const lines of linesOf(path, question, { timeoutMs, signal })) {
      for (const line of lines) {
        if (line.startsWith('codec_name=')) heard.codec = line.slice(11)
        else if (line.startsWith('sample_rate=')) heard.sampleRate = numberIn(line)
        else if (line.startsWith('nb_samples='))
          heard.samplesPerPacket = Math.max(heard.samplesPerPacket, numberIn(line))
      }
    }
    return heard.samplesPerPacket > 0 && heard.sampleRate > 0 ? heard : undefined
  }

  /** The length by what the packets say they take, unless their codec knows better. */
  const countPackets = async (
    path: string,
    demuxer: string,
    heard: Heard,
    param: string,
    signal: AbortSignal,
  ): Promise<number> => {
    const question = (file: string) => [...only(demuxer), '-show_entries', 'packet=duration_time', file]
    const secondsEach = evenCodecs.has(heard.codec) ? heard.samplesPerPacket / heard.sampleRate : 0
    let packets = 0
    let saidSeconds = 0
    for await (const lines of linesOf(path, question, { timeoutMs, signal })) {
      for (const line of lines) {
        if (!line.startsWith('duration_time=')) continue
        packets += 1
        const seconds = numberIn(line)
        if (seconds > 0) saidSeconds += seconds
      }
      const isTooLong = Math.max(saidSeconds, packets * secondsEach * tolerance) > secondsMax
      if (isTooLong || packets > secondsMax * packetsPerSecondMax) throw tooLong(param)
    }
    return saidSeconds < packets * secondsEach * tolerance ? packets * secondsEach : saidSeconds
  }

  /** The length by its samples, which means decoding it; only where neither file nor codec can be believed. */
  const countSamples = async (
    path: string,
    demuxer: string,
    heard: Heard,
    param: string,
    signal: AbortSignal,
  ): Promise<number> => {
    const question = (file: string) => [...only(demuxer), '-show_entries', 'frame=nb_samples', file]
    let samples = 0
    for await (const lines of linesOf(path, question, { timeoutMs, signal })) {
      for (const line of lines) if (line.startsWith('nb_samples=')) samples += numberIn(line)
      if (samples > secondsMax * heard.sampleRate) throw tooLong(param)
    }
    return samples / heard.sampleRate
  }

  const probe = async (
    path: string,
    demuxer: string,
    param: string,
    signal: AbortSignal,
  ): Promise<number> => {
    const heard = await hear(path, demuxer, signal)
    if (heard === undefined) throw unreadable(param)
    // In this container alone the time of a packet is nothing but a claim.
    const isClaim = demuxer === 'mov' && !evenCodecs.has(heard.codec)
    return (isClaim ? countSamples : countPackets)(path, demuxer, heard, param, signal)
  }

  const measure = async (
    path: string,
    demuxer: string,
    param: string,
    mediaWork: Call['mediaWork'],
  ): Promise<number> => {
    const plain = demuxer === 'wav' ? await measureWave(path) : undefined
    const seconds = plain ?? (await mediaWork((signal) => probe(path, demuxer, param, signal)))
    if (seconds > secondsMax) throw tooLong(param)
    // Half a millisecond is no recording.
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
      if (isVerdict(error)) throw unreadable(param, error)
      throw new ApiError('service_unavailable', {
        message: 'Recordings cannot be measured at the moment.',
        cause: error,
      })
    }
  }
}

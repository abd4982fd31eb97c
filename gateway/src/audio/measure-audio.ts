/**
 * Detects the format and the duration of an audio file. Everything that a file states about its duration may be wrong, so
 * ffmpeg decodes it in the same way as the built-in provider, and the samples are counted. There are two exceptions with the
 * same result: uncompressed WAV files are measured by their size, and Opus by the headers of its packets, because it
 * decodes several times slower than other codecs. Opus whose timestamps go back or jump is decoded.
 */
import { open } from 'node:fs/promises'

import { ApiError } from '@kinora/contract/errors'
import { wholeAudioAt } from '@kinora/sandbox/audio-filter'

import type { Call } from '../http/call.ts'
import type { MediaPrograms } from '../storage/media-programs.ts'
import {
  createLineSandbox,
  createOutputSandbox,
  isCpuLimitError,
  isInvalidFileError,
} from '../storage/sandbox.ts'
import { audioFormatOf, type AudioFormat } from './audio-format.ts'
import { measureWave } from './measure-wave.ts'
import { createOpusDuration } from './opus-duration.ts'

interface MeasuredAudio extends AudioFormat {
  durationSeconds: number
}

/** Measures a file. Programs run as media work only. An unusable file is an error of the parameter `param`. */
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
  /** Tests set a small one. */
  cpuSecondsMaxOf?: (sizeBytes: number) => number
}

const headBytes = 4_096
/** That of the built-in provider, because the rounding of a filter depends on it. Each sample is one byte. */
const countedRate = 16_000
/** A larger file is long work. */
const shortBytesMax = 4 * 1_048_576
/** A smaller file is tried as short work, and becomes long work above this CPU time. */
const shortCpuSeconds = 1

/**
 * The CPU time that measuring may take. The slowest codecs at their lowest usual bit rates take a second per megabyte on
 * a small machine.
 */
const defaultCpuSecondsMaxOf = (sizeBytes: number) => 5 + (3 * sizeBytes) / 1_048_576

interface Work {
  path: string
  demuxer: string
  param: string
  signal: AbortSignal
  cpuSecondsMax: number
}

const notAudio = (param: string) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' must be an audio file in one of these formats: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm.`,
  })

const empty = (param: string) =>
  new ApiError('invalid_file_format', { param, message: `'${param}' is empty: it has 0 bytes.` })

const unreadable = (param: string, cause?: unknown) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' contains no audio that can be decoded.`,
    ...(cause !== undefined && { cause }),
  })

const severalStreams = (param: string, count: number) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' contains ${count} audio streams. Send a file with one of them, for example: ffmpeg -i input -map 0:a:0 output.flac`,
  })

const tooExpensive = (param: string, cause: unknown) =>
  new ApiError('invalid_file_format', {
    param,
    message: `'${param}' takes too long to decode for its size. Convert it, for example: ffmpeg -i input -map 0:a:0 -ac 1 -ar 16000 output.flac`,
    cause,
  })

const readHead = async (path: string): Promise<{ head: Buffer; sizeBytes: number }> => {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return { head: buffer.subarray(0, bytesRead), sizeBytes: (await file.stat()).size }
}

/**
 * ffmpeg detects the container itself, as providers do, and fails if it finds another one than our detection: then the
 * file is several at once, and another program might decode another one.
 */
const opened = (demuxer: string) => [
  ...['-v', 'quiet', '-protocol_whitelist', 'file', '-format_whitelist', demuxer],
]
const openedAudio = (demuxer: string, file: string) => [
  ...[...opened(demuxer), '-nostdin', '-threads', '1', '-i', file],
  ...['-map', '0:a:0', '-vn', '-sn', '-dn', '-map_metadata', '-1'],
]

/** Keeps the timestamps uncorrected. Without `igndts`, ffmpeg copies audio by `dts`, although it decodes by `pts`. */
const timesAsInFile = ['-copyts', '-fflags', '+igndts']
/** ffmpeg cannot write timestamps that go back, so a step back becomes a jump of an hour, which is irregular too. */
const stepBackAsJump =
  "setts=ts='if(N,PREV_OUTPTS+if(lt(PTS,PREV_INPTS),3600/TB,PTS-PREV_INPTS),0)':duration='1/TB'"

const isAbort = (error: unknown): boolean => (error as { name?: unknown }).name === 'AbortError'

/** Creates the function. If ffmpeg cannot run, the error is `service_unavailable` and does not blame the file. */
export const createMeasureAudio = ({
  programs,
  secondsMax,
  adviceForLonger = 'Split it, or send it to /v1/audio/transcription-tasks.',
  cpuSecondsMaxOf = defaultCpuSecondsMaxOf,
}: MeasureAudioSettings): MeasureAudio => {
  const linesOf = createLineSandbox(programs.ffprobePath, programs)
  const outputOf = createOutputSandbox(programs.ffmpegPath, programs)
  // The CPU time is limited as well. This limit is for a machine that is too busy.
  const timeoutMs = 120_000 + secondsMax * 5

  const tooLong = (param: string) =>
    new ApiError('invalid_parameter', {
      param,
      message: `'${param}' is longer than ${secondsMax} seconds. ${adviceForLonger}`,
    })

  /** The codec of each audio stream. */
  const findCodecs = async ({ path, demuxer, ...limits }: Work): Promise<string[]> => {
    const parameters = (file: string) => [
      ...[...opened(demuxer), '-select_streams', 'a', '-of', 'default=noprint_wrappers=1'],
      ...['-show_entries', 'stream=codec_name', file],
    ]
    const codecs: string[] = []
    for await (const lines of linesOf(path, parameters, { timeoutMs, ...limits })) {
      for (const line of lines) if (line.startsWith('codec_name=')) codecs.push(line.slice(11))
    }
    return codecs
  }

  /** Reads the packets as they are, also those before the first keyframe or the start of the timeline. */
  const measureOpus = async ({ path, demuxer, param, ...limits }: Work): Promise<number | undefined> => {
    const duration = createOpusDuration()
    const parameters = (file: string) => [
      ...[...timesAsInFile, ...openedAudio(demuxer, file), '-c', 'copy', '-copyinkf', '-copypriorss', '1'],
      ...['-bsf:a', stepBackAsJump, '-f', 'ogg', '-oggpagesize', '1', 'pipe:1'],
    ]
    for await (const chunk of outputOf(path, parameters, { timeoutMs, ...limits })) {
      duration.read(chunk)
      const seconds = duration.seconds()
      if (seconds === undefined) return undefined
      if (seconds > secondsMax) throw tooLong(param)
    }
    return duration.seconds()
  }

  const decode = async ({ path, demuxer, param, ...limits }: Work): Promise<number> => {
    const parameters = (file: string) => [
      ...[...openedAudio(demuxer, file), '-af', wholeAudioAt(countedRate), '-ac', '1'],
      ...['-c:a', 'pcm_u8', '-f', 'u8', 'pipe:1'],
    ]
    let samples = 0
    for await (const chunk of outputOf(path, parameters, { timeoutMs, ...limits })) {
      samples += chunk.length
      if (samples > secondsMax * countedRate) throw tooLong(param)
    }
    return samples / countedRate
  }

  const run = async (work: Work): Promise<number> => {
    const codecs = await findCodecs(work)
    const [codec] = codecs
    if (codec === undefined) throw unreadable(work.param)
    if (codecs.length > 1) throw severalStreams(work.param, codecs.length)
    return (codec === 'opus' ? await measureOpus(work) : undefined) ?? decode(work)
  }

  /** Most files take little CPU time. A file that takes more, or probably does, yields to them. */
  const runQueued = async (
    file: Pick<Work, 'path' | 'demuxer' | 'param'>,
    sizeBytes: number,
    mediaWork: Call['mediaWork'],
  ): Promise<number> => {
    if (sizeBytes <= shortBytesMax) {
      try {
        return await mediaWork((signal) => run({ ...file, signal, cpuSecondsMax: shortCpuSeconds }))
      } catch (error) {
        if (!isCpuLimitError(error)) throw error
      }
    }
    const cpuSecondsMax = cpuSecondsMaxOf(sizeBytes)
    return mediaWork((signal) => run({ ...file, signal, cpuSecondsMax }), { isLong: true })
  }

  return async (path, param, mediaWork) => {
    const { head, sizeBytes } = await readHead(path)
    const known = audioFormatOf(head)
    if (sizeBytes === 0) throw empty(param)
    if (known === undefined) throw notAudio(param)
    const { demuxer, ...format } = known
    try {
      const waveSeconds = demuxer === 'wav' ? await measureWave(path) : undefined
      const seconds = waveSeconds ?? (await runQueued({ path, demuxer, param }, sizeBytes, mediaWork))
      if (seconds > secondsMax) throw tooLong(param)
      // Less would be rounded to zero.
      if (!(seconds >= 0.0005)) throw unreadable(param)
      return { ...format, durationSeconds: Math.round(seconds * 1000) / 1000 }
    } catch (error) {
      if (error instanceof ApiError || isAbort(error)) throw error
      if (isCpuLimitError(error)) throw tooExpensive(param, error)
      if (isInvalidFileError(error)) throw unreadable(param, error)
      throw new ApiError('service_unavailable', {
        message: 'Audio files cannot be processed at the moment. Try again later.',
        cause: error,
      })
    }
  }
}

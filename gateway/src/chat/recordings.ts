/** Decodes the base64 recordings of a conversation into files. Long ones are streamed and never fully in memory. */
import { createReadStream } from 'node:fs'
import { unlink, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'
import { audioBytesMax } from '@kinora/contract/operations/audio'
import type { InputAudioFormat } from '@kinora/contract/operations/chat'

import type { MeasureAudio } from '../audio/measure-audio.ts'
import type { SpooledText } from '../http/body/spooled-text.ts'
import type { Call } from '../http/call.ts'
import { base64Length, decodeBase64, encodeBase64 } from '../platform/streams/base64.ts'
import type { DialoguePart } from '../providers/port/dialogue.ts'
import type { RecordingDecoder } from './decode-recording.ts'
import { invalid } from './read-member.ts'

/** A recording as the caller sent it. */
export interface SentRecording {
  /** The parameter that contains the base64 text. */
  param: string
  format: InputAudioFormat
  data: string | SpooledText
}

export interface Recording {
  seconds: number
  part: Extract<DialoguePart, { kind: 'audio' }>
}

export interface RecordingDependencies {
  measureAudio: MeasureAudio
  decoder: RecordingDecoder
  spool: { newPath: () => string }
}

const tooLarge = (param: string) => invalid(param, `base64 of at most ${audioBytesMax / 1_048_576} MB`)

const notBase64 = (param: string) => invalid(param, 'valid base64')

interface DecodedRecording {
  sizeBytes: number
  openBase64: () => Promise<Readable>
}

const reencoded = (path: string, sizeBytes: number): DecodedRecording => ({
  sizeBytes,
  openBase64: async () => {
    const file = createReadStream(path, { highWaterMark: 192 * 1024 })
    return Readable.from(encodeBase64(file), { objectMode: false })
  },
})

/** Decodes a short recording in memory. */
const decodeShort = async (param: string, data: string, path: string): Promise<DecodedRecording> => {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of decodeBase64([Buffer.from(data)])) chunks.push(chunk)
  } catch {
    throw notBase64(param)
  }
  const bytes = Buffer.concat(chunks)
  await writeFile(path, bytes, { mode: 0o600 })
  return reencoded(path, bytes.length)
}

const decode = async (
  { decoder }: RecordingDependencies,
  { param, data }: SentRecording,
  path: string,
): Promise<DecodedRecording> => {
  if (typeof data === 'string') return decodeShort(param, data, path)
  if (data.sizeBytes > base64Length(audioBytesMax)) throw tooLarge(param)
  const { sizeBytes, isStandard } = await decoder.decode({ from: data.place, to: path })
  if (sizeBytes === undefined) throw notBase64(param)
  if (sizeBytes > audioBytesMax) throw tooLarge(param)
  // Encoding the file again would give the same text.
  return isStandard ? { sizeBytes, openBase64: async () => data.open() } : reencoded(path, sizeBytes)
}

/** Decoding a long recording is media work, and so is measuring any. */
const decodeAndMeasure = async (
  dependencies: RecordingDependencies,
  sent: SentRecording,
  path: string,
  mediaWork: Call['mediaWork'],
) => {
  const decoding = () => decode(dependencies, sent, path)
  const decoded = await (typeof sent.data === 'string' ? decoding() : mediaWork(decoding))
  return { ...decoded, ...(await dependencies.measureAudio(path, sent.param, mediaWork)) }
}

const readOne = async (
  dependencies: RecordingDependencies,
  sent: SentRecording,
  path: string,
  mediaWork: Call['mediaWork'],
): Promise<Recording> => {
  const { sizeBytes, openBase64, format, durationSeconds } = await decodeAndMeasure(
    dependencies,
    sent,
    path,
    mediaWork,
  )
  if (format !== sent.format) {
    throw new ApiError('invalid_file_format', {
      param: sent.param,
      message: `'${sent.param}' contains ${format}, but its format is given as ${sent.format}.`,
    })
  }
  return {
    seconds: durationSeconds,
    part: { kind: 'audio', format: sent.format, sizeBytes: base64Length(sizeBytes), openBase64 },
  }
}

/** Decodes and measures the recordings, calls `work` with them, and then removes their files. */
export const withRecordings = async <Result>(
  dependencies: RecordingDependencies,
  sent: SentRecording[],
  mediaWork: Call['mediaWork'],
  work: (recordings: Map<SentRecording, Recording>) => Promise<Result>,
): Promise<Result> => {
  const paths: string[] = []
  try {
    const recordings = new Map<SentRecording, Recording>()
    for (const each of sent) {
      const path = dependencies.spool.newPath()
      paths.push(path)
      recordings.set(each, await readOne(dependencies, each, path, mediaWork))
    }
    return await work(recordings)
  } finally {
    await Promise.allSettled(paths.map((path) => unlink(path)))
  }
}

import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import { startProgram, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { soundTokensOf } from './completion.ts'

const samplesPerSecond = 24_000
const bytesPerSample = 2
const wavHeaderBytes = 44

export type Speak = (
  order: { input: string; voice: string; format: string },
  signal: AbortSignal,
) => Promise<{ stream: Readable }>

export interface SpokenReply {
  bytes: Buffer
  seconds: number
}

export interface SpeakingTools {
  speak: Speak
  ffmpeg: FfmpegTool
  /** For a temporary file. */
  folder: string
}

/** Speaks a whole reply. Unlike streamed speech, its length is known. */
export async function speakReply(
  { speak, ffmpeg, folder }: SpeakingTools,
  order: { input: string; voice: string; format: string },
  signal: AbortSignal,
): Promise<SpokenReply> {
  const isPlain = order.format === 'wav' || order.format === 'pcm16'
  const { stream } = await speak({ ...order, format: isPlain ? 'pcm' : order.format }, signal)
  const bytes = await buffer(stream)
  if (!isPlain) return { bytes, seconds: await measureSeconds(ffmpeg, folder, bytes, signal) }
  const seconds = bytes.length / (samplesPerSecond * bytesPerSample)
  return { bytes: order.format === 'wav' ? Buffer.concat([wavHeader(bytes.length), bytes]) : bytes, seconds }
}

/** The text of a reply after a number of tokens. */
export interface ReplyStep {
  text: string
  tokens: number
}

/**
 * Speaks as much of a reply as fits the limit of text and audio tokens together. Text and audio are cut at the same
 * place. The first step is always spoken, because a spoken reply needs audio.
 */
export async function speakWithin(
  steps: [ReplyStep, ...ReplyStep[]],
  maxTokens: number,
  speak: (text: string) => Promise<SpokenReply>,
): Promise<ReplyStep & { spoken: SpokenReply; isCut: boolean }> {
  let last = steps.length - 1
  for (;;) {
    const step = steps[last] ?? steps[0]
    const spoken = await speak(step.text)
    const tokens = step.tokens + soundTokensOf(spoken.seconds)
    if (tokens <= maxTokens || last === 0) return { ...step, spoken, isCut: last < steps.length - 1 }
    last = Math.min(last - 1, Math.floor((last * maxTokens) / tokens))
  }
}

function wavHeader(soundBytes: number): Buffer {
  const header = Buffer.alloc(wavHeaderBytes)
  header.write('RIFF', 0)
  header.writeUInt32LE(wavHeaderBytes - 8 + soundBytes, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(samplesPerSecond, 24)
  header.writeUInt32LE(samplesPerSecond * bytesPerSample, 28)
  header.writeUInt16LE(bytesPerSample, 32)
  header.writeUInt16LE(bytesPerSample * 8, 34)
  header.write('data', 36)
  header.writeUInt32LE(soundBytes, 40)
  return header
}

/** Decodes the audio and counts its samples, because a streamed format does not contain its length. */
async function measureSeconds(
  tool: FfmpegTool,
  folder: string,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<number> {
  await writeFile(path.join(folder, 'spoken'), bytes)
  const args = [
    ...['-hide_banner', '-loglevel', 'error', '-nostdin', '-protocol_whitelist', 'file,pipe'],
    ...['-i', 'spoken', '-f', 's16le', '-ac', '1', '-ar', String(samplesPerSecond), 'pipe:1'],
  ]
  const child = startProgram(tool, folder, args, ['ignore', 'pipe', 'ignore'])
  const kill = () => killSandboxed(child)
  signal.addEventListener('abort', kill)
  try {
    let sizeBytes = 0
    child.stdout!.on('data', (chunk: Buffer) => (sizeBytes += chunk.length))
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    signal.throwIfAborted()
    if (code !== 0) throw new Error('The spoken reply could not be measured.')
    return sizeBytes / (samplesPerSecond * bytesPerSample)
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

import { readText } from './read-create.ts'

/** A requested speech and its progress. */
export interface VendorSpeech {
  model: string
  input: string
  voice: string
  format: string
  speed: number
  instructions: string | undefined
  /** Bytes of the whole speech, and bytes written so far. */
  sizeBytes: number
  sentBytes: number
  state: 'under way' | 'refused' | 'finished' | 'cut' | 'abandoned'
}

interface SpeechRequest {
  model?: string
  input?: string
  voice?: string
  response_format?: string
  speed?: number
  instructions?: string
}

const program = 'ffmpeg'
const samplesPerSecond = 24_000

const formats: Record<string, { contentType: string; args: string[] }> = {
  mp3: { contentType: 'audio/mpeg', args: ['-c:a', 'libmp3lame', '-b:a', '96k', '-f', 'mp3'] },
  opus: { contentType: 'audio/opus', args: ['-c:a', 'libopus', '-b:a', '48k', '-f', 'ogg'] },
  aac: { contentType: 'audio/aac', args: ['-c:a', 'aac', '-b:a', '96k', '-f', 'adts'] },
  flac: { contentType: 'audio/flac', args: ['-c:a', 'flac', '-f', 'flac'] },
  wav: { contentType: 'audio/wav', args: [] },
  pcm: { contentType: 'audio/pcm', args: [] },
}

/**
 * The vendor's `/v1/audio/speech`: a tone with the duration of the text, in the requested format,
 * sent in chunks. Directives in the text request faults and another speed.
 */
export function createVendorSpeech() {
  const speeches: VendorSpeech[] = []
  const encoded = new Map<string, Promise<Buffer>>()

  function soundOf(format: string, seconds: number): Promise<Buffer> {
    const key = `${format} ${seconds}`
    const known = encoded.get(key) ?? encode(format, toneOf(seconds))
    encoded.set(key, known)
    return known
  }

  /** Records a speech, and whether its client disconnects. */
  function enter(
    asked: Omit<VendorSpeech, 'sizeBytes' | 'sentBytes' | 'state'>,
    response: ServerResponse,
  ): VendorSpeech {
    const speech: VendorSpeech = { ...asked, sizeBytes: 0, sentBytes: 0, state: 'under way' }
    speeches.push(speech)
    response.on('close', () => {
      if (speech.state === 'under way') speech.state = 'abandoned'
    })
    return speech
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await readText(request)) as SpeechRequest
    const { model = '', input = '', voice = '', response_format: name = 'mp3', speed = 1 } = asked
    const format = formats[name]
    const { instructions } = asked
    const speech = enter({ model, input, voice, format: name, speed, instructions }, response)
    const words = wordsIn(input)
    const refuse = (status: number, code: string, message = 'The simulated vendor refuses.') => {
      speech.state = 'refused'
      const text = JSON.stringify({ error: { code, message, type: 'invalid_request_error', param: null } })
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(text)
    }
    if (format === undefined) return refuse(400, 'invalid_value')
    if (words.has('500')) return refuse(500, 'server_error')
    if (words.has('busy')) return refuse(429, 'rate_limit_exceeded')
    if (words.has('moderated')) return refuse(400, 'content_policy_violation')
    if (words.has('reject')) return refuse(400, words.get('reject') ?? 'invalid_value')
    if (words.has('leak')) {
      return refuse(400, 'invalid_value', `${request.headers.host} refused ${request.headers.authorization}`)
    }
    if (words.has('hang')) return
    const contentType = words.has('wrong-type') ? `text/${words.get('wrong-type')}` : format.contentType
    const numberIn = (word: string, otherwise: number) => Number(words.get(word) ?? otherwise)

    const sound = words.has('empty')
      ? Buffer.alloc(0)
      : await soundOf(name, Math.max(0.1, [...input].length / 15 / speed))
    speech.sizeBytes = sound.length
    response.writeHead(200, { 'content-type': contentType })
    const signal = gone(response)
    const chunkBytes = Math.max(1, Math.ceil(sound.length / numberIn('chunks', 16)))
    for (let from = 0; from < sound.length; from += chunkBytes) {
      const isPastHalf = from >= sound.length / 2
      if (isPastHalf && words.has('stall')) return
      if (isPastHalf && words.has('die')) {
        speech.state = 'cut'
        response.socket?.destroy()
        return
      }
      const chunk = sound.subarray(from, from + chunkBytes)
      const fitsQueue = response.write(chunk)
      speech.sentBytes += chunk.length
      if (!fitsQueue) await once(response, 'drain', { signal }).catch(() => undefined)
      if (response.destroyed) return
      await wait(numberIn('pace', 5))
    }
    speech.state = 'finished'
    response.end()
  }

  return { answer, enter, soundOf, speeches: () => speeches.map((speech) => ({ ...speech })) }
}

/** Returns the directives `vendor:name` and `vendor:name=value` of a text. */
export function wordsIn(input: string): Map<string, string | undefined> {
  return new Map(
    [...input.matchAll(/\bvendor:([a-z0-9-]+)(?:=(\w+))?/g)].map(([, word = '', value]) => [word, value]),
  )
}

export function gone(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => controller.abort())
  return controller.signal
}

function toneOf(seconds: number): Buffer {
  const samples = new Int16Array(Math.ceil(seconds * samplesPerSecond))
  for (let at = 0; at < samples.length; at += 1) {
    samples[at] = Math.round(8_000 * Math.sin((2 * Math.PI * 220 * at) / samplesPerSecond))
  }
  return Buffer.from(samples.buffer)
}

function waveOf(samples: Buffer): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(samplesPerSecond, 24)
  head.writeUInt32LE(samplesPerSecond * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

async function encode(format: string, samples: Buffer): Promise<Buffer> {
  if (format === 'pcm') return samples
  if (format === 'wav') return waveOf(samples)
  const ffmpeg = spawn(
    program,
    [
      ...['-loglevel', 'error', '-nostdin', '-f', 's16le', '-ar', String(samplesPerSecond), '-ac', '1'],
      ...['-i', 'pipe:0', ...(formats[format]?.args ?? []), 'pipe:1'],
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  ffmpeg.stdin.on('error', () => undefined).end(samples)
  const chunks: Buffer[] = []
  for await (const chunk of ffmpeg.stdout as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

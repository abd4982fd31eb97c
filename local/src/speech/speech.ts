import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { findFfmpeg, type FfmpegSettings, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { createInference, InferenceBusy } from '../inference/inference.ts'
import type { Log } from '../log.ts'
import { chooseSpeech, type SpeechEngine } from '../models/engines.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { makeWorkFolder, type WorkSettings } from '../work-folder.ts'
import { encodeSpeech, speechFormats, type Sound } from './encode-speech.ts'
import { espeakSound } from './espeak-sound.ts'
import { findEspeak, type EspeakTool } from './espeak.ts'
import type { KokoroTask } from './kokoro-model.ts'
import { kokoroSound } from './kokoro.ts'
import { resampled } from './resample.ts'
import { splitScripts, type ScriptRun } from './script-runs.ts'
import { checkSpeechOrder, InvalidSpeech, parseSpeechOrder, type SpeechOrder } from './speech-order.ts'
import { hasWords, spokenText } from './spoken-text.ts'
import { voices, type Voice } from './voices.ts'

export interface SpeechOptions extends FfmpegSettings, WorkSettings {
  directory: ModelDirectory
  /** Undefined if espeak-ng is not installed. */
  espeakPath: string | undefined
  log: Log
  /** The model is unloaded after this time without a request. */
  idleMs?: number
}

export interface SpokenText {
  engine: SpeechEngine
  /** The best engine, which may not be installed. */
  wanted: SpeechEngine
  contentType: string
  stream: Readable
}

export interface Speech {
  /** Resolves with the first bytes. Destroying the stream or aborting the signal stops everything. */
  speak: (order: SpeechOrder, signal: AbortSignal) => Promise<SpokenText>
  /** Handles `POST /v1/audio/speech`. */
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  close: () => Promise<void>
}

/** No speech engine is installed. */
export class SpeechUnavailable extends Error {}

/** How many texts may be spoken at the same time. */
const mostTexts = 8
const busyRetrySeconds = 5
const defaultIdleMs = 300_000
const mostBodyBytes = 512 * 1024
const silenceSeconds = 0.3
/** A client that reads nothing for this time is disconnected. */
const standstillMs = 300_000

interface Tools {
  ffmpeg: FfmpegTool
  espeak: EspeakTool | undefined
  folder: string
}

export function createSpeech(options: SpeechOptions): Speech {
  const { directory, log } = options
  const closing = new AbortController()
  const kokoro = createInference<KokoroTask, Buffer>({
    name: 'kokoro',
    program: new URL('kokoro-model.ts', import.meta.url),
    mostWaiting: mostTexts,
    idleMs: options.idleMs ?? defaultIdleMs,
    log,
  })
  const underWay = new Set<Readable>()
  let texts = 0
  let tools: Promise<Tools> | undefined

  async function find(): Promise<Tools> {
    const folder = await makeWorkFolder(options, 'speech')
    try {
      const ffmpeg = await findFfmpeg(options)
      const { espeakPath } = options
      const espeak = espeakPath === undefined ? undefined : await findEspeak(espeakPath, ffmpeg, folder)
      return { ffmpeg, espeak, folder }
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    }
  }

  function toolsFound(): Promise<Tools> {
    tools ??= find().catch((error: unknown) => {
      // Search again next time, because the programs may be installed in the meantime.
      tools = undefined
      throw error
    })
    return tools
  }

  function soundOf(engine: SpeechEngine, espeak: EspeakTool, runs: ScriptRun[], voice: Voice): Sound {
    const sounds = runs
      .filter(({ text }) => hasWords(text))
      .map(({ text, language }) =>
        engine === 'espeak-ng' || language !== undefined
          ? espeakSound(espeak, text, voice, language ?? voice.accent)
          : kokoroSound({ directory, engine, espeak, inference: kokoro }, text, voice),
      )
    return sounds.length === 0 ? silence : neverEmpty(joined(sounds))
  }

  async function speak(order: SpeechOrder, signal: AbortSignal): Promise<SpokenText> {
    checkSpeechOrder(order)
    if (texts >= mostTexts) throw new InferenceBusy('Too many texts are being spoken.')
    texts++
    let stream: Readable | undefined
    try {
      const { ffmpeg, espeak, folder } = await toolsFound()
      const programs = { espeakPath: espeak?.program.path, pocketsphinxPath: undefined }
      const choice = chooseSpeech(directory, programs)
      if ('missing' in choice || espeak === undefined) {
        throw new SpeechUnavailable('There is no engine to speak with: espeak-ng is not installed.')
      }
      const split = splitScripts(spokenText(order.input))
      if ('refusal' in split) throw new InvalidSpeech('invalid_parameter', split.refusal)
      const { engine, wanted } = engineFor(choice, split.runs)
      const format = speechFormats.get(order.format)!
      const encoding = { tool: ffmpeg, directory: folder, format, speed: order.speed }
      const stopped = AbortSignal.any([signal, closing.signal])
      stream = encodeSpeech(encoding, soundOf(engine, espeak, split.runs, voices.get(order.voice)!), stopped)
      follow(stream)
      await once(stream, 'readable')
      return { engine, wanted, contentType: format.contentType, stream }
    } catch (error) {
      if (stream === undefined) texts--
      throw error
    }
  }

  function follow(stream: Readable): void {
    underWay.add(stream)
    stream.once('close', () => {
      underWay.delete(stream)
      texts--
    })
    // The stream may fail before it has a reader.
    stream.on('error', () => {})
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    response.setTimeout(standstillMs, () => response.destroy())
    const order = parseSpeechOrder(await readBody(request))
    if (!hasWords(spokenText(order.input))) {
      throw new InvalidSpeech('invalid_parameter', 'The input has no words: emoji and signs are not spoken.')
    }
    const begun = performance.now()
    const { engine, wanted, contentType, stream } = await speak(order, gone.signal)
    log('local.speaking', {
      engine,
      characters: order.input.length,
      firstByteMs: Math.round(performance.now() - begun),
    })
    response.writeHead(200, {
      'content-type': contentType,
      'cache-control': 'no-store',
      'x-engine': engine,
      ...(engine === wanted ? {} : { 'x-engine-wanted': wanted }),
    })
    await pipeline(stream, response)
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await answer(request, response)
    } catch (error) {
      if (response.destroyed && !closing.signal.aborted) return
      const [status, code, message] = problemOf(error)
      if (status === 500) log('local.speech_failed', { err: error }, 'error')
      if (response.headersSent) {
        response.destroy()
        return
      }
      const text = JSON.stringify({ error: { code, message } })
      response.writeHead(status, {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
        'cache-control': 'no-store',
        ...(code === 'busy' ? { 'retry-after': String(busyRetrySeconds) } : {}),
        ...(request.complete ? {} : { connection: 'close' }),
      })
      response.end(text)
    }
  }

  return {
    speak,
    handle,
    close: async () => {
      closing.abort()
      const closed = [...underWay].map((stream) => (stream.closed ? undefined : once(stream, 'close')))
      for (const stream of underWay) stream.destroy()
      await Promise.all([kokoro.close(), ...closed])
      const found = await tools?.catch(() => undefined)
      if (found !== undefined) await rm(found.folder, { recursive: true, force: true })
    },
  }
}

const silence: Sound = {
  samplesPerSecond: 24_000,
  async *samples() {
    yield Buffer.alloc(Math.round(silenceSeconds * 24_000) * 2)
  },
}

/** A text without words for the requested voice needs only espeak-ng. */
function engineFor(
  choice: { engine: SpeechEngine; wanted: SpeechEngine },
  runs: ScriptRun[],
): { engine: SpeechEngine; wanted: SpeechEngine } {
  const isForeign = runs.every(({ language }) => language !== undefined)
  return isForeign ? { engine: 'espeak-ng', wanted: 'espeak-ng' } : choice
}

/** Joins sounds at the highest of their sample rates. */
function joined(sounds: Sound[]): Sound {
  const samplesPerSecond = Math.max(...sounds.map((sound) => sound.samplesPerSecond))
  return {
    samplesPerSecond,
    async *samples(signal) {
      for (const sound of sounds) yield* resampled(sound, samplesPerSecond).samples(signal)
    },
  }
}

/** Adds a silence if an engine produces no sound for the text. */
function neverEmpty(sound: Sound): Sound {
  return {
    samplesPerSecond: sound.samplesPerSecond,
    async *samples(signal) {
      let isEmpty = true
      for await (const some of sound.samples(signal)) {
        isEmpty = false
        yield some
      }
      if (isEmpty) yield* silence.samples(signal)
    },
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > mostBodyBytes) throw new InvalidSpeech('invalid_request', 'The body is too large.')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function problemOf(error: unknown): [status: number, code: string, message: string] {
  if (error instanceof InvalidSpeech) return [400, error.code, error.message]
  if (error instanceof InferenceBusy) return [503, 'busy', error.message]
  if (error instanceof SpeechUnavailable) return [503, 'service_unavailable', error.message]
  return [500, 'internal_error', 'The speech could not be generated.']
}

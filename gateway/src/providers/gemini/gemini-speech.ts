import { decodeBase64, NotBase64 } from '../../platform/streams/base64.ts'
import { jsonBody } from '../kit/http/multipart.ts'
import { sentData } from '../kit/http/sse-data.ts'
import { isJson } from '../kit/http/upstream-http.ts'
import { type JsonToken, jsonTokens } from '../kit/json/json-tokens.ts'
import { member, numberOf, textOf } from '../kit/json/lenient-json.ts'
import { derivedStream } from '../kit/streams/derived-stream.ts'
import { encodeSpeech, samplesPerSecond } from '../kit/streams/encode-speech.ts'
import { firstByteOf } from '../kit/streams/first-byte.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Speech, SpeechJob, SpeechProvider } from '../port/speech.ts'
import { geminiApi, type GeminiSettings } from './gemini-api.ts'
import { errorIn, failureOfGemini } from './gemini-failure.ts'

export interface GeminiSpeechSettings extends GeminiSettings {
  /** Whether the sound is asked for as it is made. */
  streaming: boolean
  /** What it calls voices that our models call otherwise. */
  voices: Record<string, string>
  /** Whether instructions are put before the text; the protocol has no other place for them. */
  followsInstructions: boolean
  ffmpegPath: string
  /** How long a vendor may take to begin. */
  firstByteMs?: number | undefined
}

/** Some of plain sound, and how many samples a second of it has. */
interface Sound {
  rate: number
  bytes: Buffer
}

/** Voices of a similar kind. Any other name goes as it is. */
export const usualVoices: Record<string, string> = {
  alloy: 'Kore',
  echo: 'Charon',
  fable: 'Puck',
  onyx: 'Fenrir',
  nova: 'Aoede',
  shimmer: 'Leda',
}

const toldNames = new Set(['data', 'mimeType', 'mime_type'])
const moderated = new Set(['SAFETY', 'PROHIBITED_CONTENT', 'BLOCKLIST', 'SPII', 'RECITATION'])
const outOfRoom = new Set(['MAX_TOKENS', 'LENGTH'])
const what = 'speech'

/** Speech as a model of words makes it: plain samples in base64, which are encoded here. */
export function geminiSpeech(settings: GeminiSpeechSettings): SpeechProvider {
  const { streaming, followsInstructions, ffmpegPath } = settings
  // Who does not stream says nothing until all of it is made.
  const { firstByteMs = streaming ? 60_000 : 180_000 } = settings
  const voices = { ...usualVoices, ...settings.voices }
  // A speech keeps its connection for as long as it is listened to.
  const { upstream, pathOf, authorization } = geminiApi({ ...settings, connections: 512 })

  /** Asks once; undefined where the answer has no sound in it. */
  async function begin(job: SpeechJob, signal: AbortSignal) {
    const voiceName = Object.hasOwn(voices, job.voice) ? voices[job.voice] : job.voice
    const { headers, bytes } = await upstream.openAnswer({
      what,
      method: 'POST',
      path: pathOf(job.model, streaming ? 'streamGenerateContent?alt=sse' : 'generateContent'),
      headers: await authorization(signal),
      body: jsonBody({
        contents: [{ role: 'user', parts: [{ text: textFor(job) }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } },
        },
      }),
      takesJson: true,
      signal,
    })
    const isStream = streaming && !isJson(headers)
    const sounds = soundsIn(jsonTokens(isStream ? sentData(bytes) : bytes, toldNames, what), isStream)
    try {
      const first = await sounds.next()
      if (first.done !== true) {
        const { rate } = first.value
        return { rate, pcm: derivedStream(bytes, samplesOf(first.value, sounds)) }
      }
    } catch (error) {
      bytes.destroy()
      throw error
    }
    bytes.destroy()
    return undefined
  }

  /** The sound in an answer as it comes, and a failure where the answer says that there is no more for a reason. */
  async function* soundsIn(
    chunks: AsyncGenerator<JsonToken, void, undefined>,
    isStream: boolean,
  ): AsyncGenerator<Sound, void, undefined> {
    let type = ''
    let isTypeWhole = true
    let hasSound = false
    let hasEnded = !isStream
    for (;;) {
      const next = await chunks.next()
      if (next.done === true) break
      const chunk = next.value
      if (chunk.kind === 'document') {
        const documents: unknown[] = Array.isArray(chunk.value) ? chunk.value : [chunk.value]
        for (const document of documents) hasEnded = endsWith(document) || hasEnded
      } else if (chunk.name === 'data') {
        const rate = rateIn(type)
        for await (const bytes of decoded(chunk, chunks)) {
          hasSound = true
          yield { rate, bytes }
        }
      } else {
        type = (isTypeWhole ? '' : type) + chunk.bytes.toString()
        isTypeWhole = chunk.isEnd
      }
    }
    if (hasSound && !hasEnded) throw new ProviderFailure('unknown', `${what} stopped before its end`)
  }

  /** Whether the vendor says that this was all; throws where it says that something is wrong. */
  function endsWith(document: unknown): boolean {
    const error = errorIn(document)
    if (error !== undefined) {
      const status = numberOf(member(error, 'code')) ?? 500
      throw failureOfGemini({ what, status, headers: {}, body: document }, upstream.redact)
    }
    const blocked = textOf(member(member(document, 'promptFeedback'), 'blockReason'))
    const candidates = member(document, 'candidates')
    const reason = textOf(member(Array.isArray(candidates) ? candidates[0] : undefined, 'finishReason'))
    if (blocked !== undefined || moderated.has(reason?.toUpperCase() ?? '')) {
      const message = upstream.redact(`${what} was stopped for its content: ${blocked ?? reason}`)
      throw new ProviderFailure('moderated', message, { code: 'content_policy_violation' })
    }
    if (outOfRoom.has(reason?.toUpperCase() ?? '')) {
      // What was said by then is not the whole text, and must not pass for it.
      throw new ProviderFailure('rejected', `${what} was stopped for its length`, {
        code: 'output_length_exceeded',
      })
    }
    return reason !== undefined
  }

  async function speak(job: SpeechJob, signal: AbortSignal): Promise<Speech> {
    const impatience = new AbortController()
    const timer = setTimeout(
      () => impatience.abort(new DOMException('it has not begun', 'TimeoutError')),
      firstByteMs,
    )
    const stopped = AbortSignal.any([signal, impatience.signal])
    try {
      // These models write instead of speaking now and then, and seldom twice in a row.
      const begun = (await begin(job, stopped)) ?? (await begin(job, stopped))
      if (begun === undefined) throw new ProviderFailure('unknown', `${what} answered no sound`)
      const { rate, pcm } = begun
      const bytes = encodeSpeech(pcm, { rate, format: job.format, speed: job.speed }, ffmpegPath, stopped)
      if (!(await firstByteOf(bytes))) throw new ProviderFailure('unknown', `${what} answered no sound`)
      return { bytes, engine: undefined }
    } finally {
      clearTimeout(timer)
    }
  }

  return { followsInstructions, speak }
}

function textFor({ input, instructions }: SpeechJob): string {
  return instructions === undefined ? input : `${instructions}\n\nRead aloud only what follows:\n\n${input}`
}

/** One text of base64, from its first piece on. Each has an end of its own, where base64 may have padding. */
async function* decoded(
  first: Extract<JsonToken, { kind: 'text' }>,
  chunks: AsyncGenerator<JsonToken, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  async function* letters(): AsyncGenerator<Buffer> {
    let chunk: JsonToken | undefined = first
    while (chunk?.kind === 'text') {
      yield chunk.bytes
      if (chunk.isEnd) return
      const next: IteratorResult<JsonToken, void> = await chunks.next()
      chunk = next.value ?? undefined
    }
  }
  try {
    yield* decodeBase64(letters())
  } catch (error) {
    if (!(error instanceof NotBase64)) throw error
    throw new ProviderFailure('unknown', `${what} answered something other than base64`)
  }
}

/** Plain samples are all that is understood; their type says how many a second has. */
function rateIn(type: string): number {
  if (type !== '' && !/^audio\/(l16|pcm|x-pcm|raw|x-raw)\b/i.test(type)) {
    const shown = type.replaceAll(/[^\w/+.;=-]/g, '').slice(0, 60)
    throw new ProviderFailure('unknown', `${what} answered ${shown} instead of plain samples`)
  }
  const rate = Number(/;\s*rate=(\d+)/i.exec(type)?.[1] ?? samplesPerSecond)
  if (rate >= 8_000 && rate <= 192_000) return rate
  throw new ProviderFailure('unknown', `${what} answered ${rate} samples a second`)
}

async function* samplesOf(
  first: Sound,
  rest: AsyncGenerator<Sound, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  yield first.bytes
  for await (const { rate, bytes } of rest) {
    if (rate !== first.rate) throw new ProviderFailure('unknown', `${what} changed its rate midway`)
    yield bytes
  }
}

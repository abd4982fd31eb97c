import { decodeBase64, NotBase64 } from '../../platform/streams/base64.ts'
import { jsonBody } from '../kit/http/multipart.ts'
import { isJson } from '../kit/http/response-body.ts'
import { streamSseData } from '../kit/http/sse-data.ts'
import { type JsonToken, jsonTokens } from '../kit/json/json-tokens.ts'
import { member, numberOf, textOf } from '../kit/json/lenient-json.ts'
import { derivedStream } from '../kit/streams/derived-stream.ts'
import { encodeSpeech, samplesPerSecond } from '../kit/streams/encode-speech.ts'
import { hasFirstByte } from '../kit/streams/first-byte.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Speech, SpeechJob, SpeechProvider } from '../port/speech.ts'
import { geminiApi, type GeminiSettings } from './gemini-api.ts'
import { errorIn, failureOfGemini } from './gemini-failure.ts'

export interface GeminiSpeechSettings extends GeminiSettings {
  /** Whether the audio is streamed. */
  streaming: boolean
  /** The vendor's voice names, by ours. */
  voices: Record<string, string>
  /** Whether instructions are put before the text; the protocol has no field for them. */
  followsInstructions: boolean
  ffmpegPath: string
  /** Timeout until the first byte. */
  firstByteMs?: number | undefined
}

/** PCM samples and their rate. */
interface Sound {
  rate: number
  bytes: Buffer
}

/** Similar voices. Other names are sent unchanged. */
export const usualVoices: Record<string, string> = {
  alloy: 'Kore',
  echo: 'Charon',
  fable: 'Puck',
  onyx: 'Fenrir',
  nova: 'Aoede',
  shimmer: 'Leda',
}

const streamedNames = new Set(['data', 'mimeType', 'mime_type'])
const moderated = new Set(['SAFETY', 'PROHIBITED_CONTENT', 'BLOCKLIST', 'SPII', 'RECITATION'])
const outOfRoom = new Set(['MAX_TOKENS', 'LENGTH'])
const what = 'speech'

/** Speech of a language model: base64 PCM samples, which are encoded here. */
export function geminiSpeech(settings: GeminiSpeechSettings): SpeechProvider {
  const { streaming, followsInstructions, ffmpegPath } = settings
  // Without streaming, the response starts only when the speech is complete.
  const { firstByteMs = streaming ? 60_000 : 180_000 } = settings
  const voices = { ...usualVoices, ...settings.voices }
  // A speech uses its connection until it has been played.
  const { upstream, pathOf, authorization } = geminiApi({ ...settings, connections: 512 })

  /** Makes one call; returns undefined if the response has no audio. */
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
      acceptsJson: true,
      signal,
    })
    const isStream = streaming && !isJson(headers)
    const sounds = soundsIn(
      jsonTokens(isStream ? streamSseData(bytes) : bytes, streamedNames, what),
      isStream,
    )
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

  /** Yields the audio of a response; fails if the response ends for another reason than completion. */
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

  /** Whether the response is complete; throws if it has an error. */
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
      // A truncated speech must not look complete.
      throw new ProviderFailure('rejected', `${what} was stopped for its length`, {
        code: 'output_length_exceeded',
      })
    }
    return reason !== undefined
  }

  async function speak(job: SpeechJob, signal: AbortSignal): Promise<Speech> {
    const firstByteTimeout = new AbortController()
    const timer = setTimeout(
      () => firstByteTimeout.abort(new DOMException('it has not begun', 'TimeoutError')),
      firstByteMs,
    )
    const stopped = AbortSignal.any([signal, firstByteTimeout.signal])
    try {
      // These models sometimes return text instead of audio, rarely twice in a row.
      const begun = (await begin(job, stopped)) ?? (await begin(job, stopped))
      if (begun === undefined) throw new ProviderFailure('unknown', `${what} answered no sound`)
      const { rate, pcm } = begun
      const bytes = encodeSpeech(pcm, { rate, format: job.format, speed: job.speed }, ffmpegPath, stopped)
      if (!(await hasFirstByte(bytes))) throw new ProviderFailure('unknown', `${what} answered no sound`)
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

/** Decodes one base64 text. Each text ends separately, because it may have padding. */
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

/** Only PCM is supported; its media type has the sample rate. */
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

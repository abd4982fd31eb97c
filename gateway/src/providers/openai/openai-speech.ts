import { engineIn } from '../kit/engine.ts'
import { one } from '../kit/http/classify.ts'
import { jsonBody } from '../kit/http/multipart.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { hasFirstByte } from '../kit/streams/first-byte.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Speech, SpeechJob, SpeechProvider } from '../port/speech.ts'

export interface OpenAiSpeechSettings {
  /** With or without `/v1` at the end. */
  baseUrl: string
  apiKey: string | undefined
  traceparent?: boolean | undefined
  /** The built-in provider uses the same protocol, reports its engine, and does not follow instructions. */
  isOurs: boolean
  /** Timeout until the first byte. */
  firstByteMs?: number
}

/** Media subtypes of each format. */
const subtypes: Record<SpeechJob['format'], RegExp> = {
  mp3: /^(x-)?(mpeg|mp3|mpeg3)$/,
  opus: /^(x-)?(ogg|opus)$/,
  aac: /^(x-)?(aac|aacp|hx-aac-adts)$/,
  flac: /^(x-)?flac$/,
  wav: /^(x-|vnd\.)?(wav|wave|pn-wav)$/,
  pcm: /^(x-)?(pcm|l16|raw)$/,
}

/** False only for a clearly different type; many vendors send a generic binary type. */
function isOfFormat(contentType: string | undefined, format: SpeechJob['format']): boolean {
  const [type = '', subtype = ''] =
    (contentType ?? '').toLowerCase().split(';', 1)[0]?.trim().split('/') ?? []
  if (type === '' || (type === 'application' && subtype === 'octet-stream')) return true
  if (subtypes[format].test(subtype)) return type === 'audio' || type === 'application'
  return type === 'audio' && !Object.values(subtypes).some((other) => other.test(subtype))
}

/** The `/v1/audio/speech` protocol with streaming. */
export function openAiSpeech(settings: OpenAiSpeechSettings): SpeechProvider {
  const { isOurs, firstByteMs = 60_000 } = settings
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    traceparent: settings.traceparent,
    isOurs,
    // A speech uses its connection until it has been played.
    connections: 512,
  })

  async function speak(job: SpeechJob, signal: AbortSignal): Promise<Speech> {
    const firstByteTimeout = new AbortController()
    const timer = setTimeout(
      () => firstByteTimeout.abort(new DOMException('it has not begun', 'TimeoutError')),
      firstByteMs,
    )
    try {
      const { headers, bytes } = await upstream.openAnswer({
        what: 'speech',
        method: 'POST',
        path: '/v1/audio/speech',
        body: jsonBody({
          model: job.model,
          input: job.input,
          voice: job.voice,
          response_format: job.format,
          speed: job.speed,
          instructions: job.instructions,
        }),
        signal: AbortSignal.any([signal, firstByteTimeout.signal]),
      })
      const contentType = one(headers['content-type'])
      if (!isOfFormat(contentType, job.format)) {
        bytes.destroy()
        throw new ProviderFailure('unknown', upstream.redact(`speech answered ${contentType}`))
      }
      if (!(await hasFirstByte(bytes))) throw new ProviderFailure('unknown', 'speech answered no sound')
      return { bytes, engine: isOurs ? engineIn(headers) : undefined }
    } finally {
      clearTimeout(timer)
    }
  }

  return { followsInstructions: !isOurs, speak }
}

import { engineIn } from '../kit/engine.ts'
import { type AnswerHeaders, failureOfAnswer, failureOfOurs, one } from '../kit/http/classify.ts'
import { type FieldPart, type FilePart, multipart } from '../kit/http/multipart.ts'
import { isJson, readText } from '../kit/http/response-body.ts'
import { readSseEvents } from '../kit/http/sse-events.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { vendorErrorIn } from '../kit/http/vendor-error.ts'
import { member, numberOf, parseJson, textOf } from '../kit/json/lenient-json.ts'
import { ProviderFailure } from '../port/failure.ts'
import type {
  SpeechSegment,
  Transcript,
  TranscriptionJob,
  TranscriptionProvider,
  TranscriptStream,
  Word,
} from '../port/transcription.ts'

export interface OpenAiTranscriptionSettings {
  /** With or without `/v1` at the end. */
  baseUrl: string
  apiKey: string | undefined
  traceparent?: boolean | undefined
  /** The built-in provider uses the same protocol and also reports its engine. */
  isOurs: boolean
}

/** Enough for hours of speech with word timestamps. */
const longestAnswerBytes = 32 * 1024 * 1024
/** A slow machine may take a while for half a minute of audio. */
const stalledMs = 180_000

/** The `/v1/audio/transcriptions` and `/v1/audio/translations` protocol. */
export function openAiTranscription(settings: OpenAiTranscriptionSettings): TranscriptionProvider {
  const { isOurs } = settings
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    traceparent: settings.traceparent,
    isOurs,
    // A recording uses its connection until it is transcribed.
    connections: 512,
  })

  async function transcribe(job: TranscriptionJob, signal: AbortSignal): Promise<Transcript> {
    const { headers, body } = await upstream.callJson({
      ...callFor(job),
      body: multipart(partsOf(job, { isStreamed: false })),
      answerBytesMax: longestAnswerBytes,
      signal,
    })
    const transcript = transcriptIn(body, job)
    return isOurs
      ? { ...transcript, engine: engineIn(headers), translation: translationIn(headers) }
      : { ...transcript, engine: undefined }
  }

  async function streamTranscript(job: TranscriptionJob, signal: AbortSignal): Promise<TranscriptStream> {
    const { headers, bytes } = await upstream.openAnswer({
      ...callFor(job),
      headers: { accept: 'text/event-stream, application/json' },
      body: multipart(partsOf(job, { isStreamed: true })),
      acceptsJson: true,
      stalledMs,
      signal,
    })

    async function* chunks(): AsyncGenerator<string, void, undefined> {
      try {
        // A model without streaming returns a normal response.
        if (isJson(headers)) {
          const text = await readText(bytes, longestAnswerBytes)
          yield transcriptIn(text === undefined ? undefined : parseJson(text), job).text
        } else yield* chunksIn(readSseEvents(bytes, what(job)))
      } finally {
        bytes.destroy()
      }
    }

    async function* chunksIn(events: AsyncGenerator<string>): AsyncGenerator<string, void, undefined> {
      let received = ''
      for await (const data of events) {
        const event = parseJson(data)
        const type = textOf(member(event, 'type'))
        if (type === 'transcript.text.delta') {
          const delta = member(event, 'delta')
          if (typeof delta !== 'string' || delta === '') continue
          received += delta
          yield delta
        } else if (type === 'transcript.text.done') {
          const text = member(event, 'text')
          // Some vendors send the rest, or all of the text, only in this event.
          if (typeof text === 'string' && text.length > received.length && text.startsWith(received)) {
            yield text.slice(received.length)
          }
          return
        } else if (vendorErrorIn(event)?.message !== undefined && member(event, 'error') !== undefined) {
          throw failureIn(event)
        }
      }
      throw new ProviderFailure('unknown', `${what(job)} broke off before its end`)
    }

    /** An error after the start of a response is inside the stream and has no status. */
    function failureIn(event: unknown): ProviderFailure {
      const answer = { what: what(job), status: 400, headers: {}, body: event }
      return isOurs ? failureOfOurs(answer, upstream.redact) : failureOfAnswer(answer, upstream.redact)
    }

    return { engine: isOurs ? engineIn(headers) : undefined, chunks: chunks() }
  }

  return { transcribe, streamTranscript }
}

/** Whether the built-in provider left text untranslated. */
function translationIn(headers: AnswerHeaders): Transcript['translation'] {
  const value = one(headers['x-translation'])
  return value === 'none' || value === 'partial' ? value : undefined
}

const what = ({ task }: TranscriptionJob) => (task === 'translate' ? 'translation' : 'transcription')

function callFor(job: TranscriptionJob) {
  return { what: what(job), method: 'POST', path: `/v1/audio/${what(job)}s` } as const
}

function partsOf(job: TranscriptionJob, { isStreamed }: { isStreamed: boolean }): (FieldPart | FilePart)[] {
  const wantsMore = job.wantsSegments || job.wantsWords
  const given: [string, string | undefined][] = [
    ['model', job.model],
    ['language', job.task === 'translate' ? undefined : job.language],
    ['prompt', job.prompt],
    ['temperature', String(job.temperature)],
    ['response_format', wantsMore ? 'verbose_json' : 'json'],
    ['timestamp_granularities[]', job.wantsWords ? 'word' : undefined],
    ['timestamp_granularities[]', job.wantsWords && job.wantsSegments ? 'segment' : undefined],
    ['stream', isStreamed ? 'true' : undefined],
  ]
  // The file comes last, so that a streaming parser has all fields before it.
  return [
    ...given.flatMap(([name, value]) => (value === undefined ? [] : { name, value })),
    { name: 'file', ...job.file },
  ]
}

function transcriptIn(body: unknown, job: TranscriptionJob): Omit<Transcript, 'engine'> {
  const text = member(body, 'text')
  if (typeof text !== 'string') throw new ProviderFailure('unknown', `${what(job)} answered without a text`)
  return {
    text,
    language: textOf(member(body, 'language')),
    durationSeconds: numberOf(member(body, 'duration')) ?? numberOf(member(member(body, 'usage'), 'seconds')),
    segments: job.wantsSegments ? listIn(body, 'segments', job, segmentIn(job)) : undefined,
    words: job.wantsWords ? listIn(body, 'words', job, wordIn) : undefined,
  }
}

/** Returns a requested list; a response without it is a failure. */
function listIn<Item>(
  body: unknown,
  name: string,
  job: TranscriptionJob,
  read: (value: unknown) => Item | undefined,
): Item[] {
  const list = member(body, name)
  if (!Array.isArray(list)) throw new ProviderFailure('unknown', `${what(job)} answered without ${name}`)
  return list.map((value: unknown) => {
    const item = read(value)
    if (item === undefined) throw new ProviderFailure('unknown', `${what(job)} answered unreadable ${name}`)
    return item
  })
}

/** Times and text are required; other missing figures are zero. */
function segmentIn({ temperature }: TranscriptionJob): (value: unknown) => SpeechSegment | undefined {
  return (value) => {
    const figure = (name: string) => numberOf(member(value, name))
    const start = figure('start')
    const end = figure('end')
    const text = member(value, 'text')
    if (start === undefined || end === undefined || typeof text !== 'string') return undefined
    const tokens = member(value, 'tokens')
    return {
      start,
      end,
      text,
      tokens: Array.isArray(tokens) ? tokens.filter((token) => Number.isInteger(token)) : [],
      temperature: figure('temperature') ?? temperature,
      avgLogprob: figure('avg_logprob') ?? 0,
      compressionRatio: figure('compression_ratio') ?? 0,
      noSpeechProb: figure('no_speech_prob') ?? 0,
      seek: figure('seek') ?? 0,
    }
  }
}

function wordIn(value: unknown): Word | undefined {
  const word = member(value, 'word') ?? member(value, 'text')
  const start = numberOf(member(value, 'start'))
  const end = numberOf(member(value, 'end'))
  if (typeof word !== 'string' || start === undefined || end === undefined) return undefined
  return { word, start, end }
}

import { engineIn } from '../kit/engine.ts'
import { failureOfAnswer, failureOfOurs } from '../kit/http/classify.ts'
import { type FieldPart, type FilePart, multipart } from '../kit/http/multipart.ts'
import { sentEvents } from '../kit/http/sse-events.ts'
import { isJson, readText, upstreamAt } from '../kit/http/upstream-http.ts'
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
  /** With or without the closing `/v1`. */
  baseUrl: string
  apiKey: string | undefined
  /** Our own provider speaks the same protocol, and tells its engine. */
  isOurs: boolean
}

/** Hours of speech with the time of every word. */
const longestAnswerBytes = 32 * 1024 * 1024
/** A stretch of half a minute may keep a slow machine busy for a while. */
const stalledMs = 180_000

/** The `/v1/audio/transcriptions` and `/v1/audio/translations` protocol. */
export function openAiTranscription(settings: OpenAiTranscriptionSettings): TranscriptionProvider {
  const { isOurs } = settings
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    isOurs,
    // A recording keeps its connection for as long as it is listened to.
    connections: 512,
  })

  async function transcribe(job: TranscriptionJob, signal: AbortSignal): Promise<Transcript> {
    const { headers, body } = await upstream.callJson({
      ...callFor(job),
      body: multipart(partsOf(job, { isStreamed: false })),
      answerBytesMax: longestAnswerBytes,
      signal,
    })
    return { ...transcriptIn(body, job), engine: isOurs ? engineIn(headers) : undefined }
  }

  async function streamTranscript(job: TranscriptionJob, signal: AbortSignal): Promise<TranscriptStream> {
    const { headers, bytes } = await upstream.openAnswer({
      ...callFor(job),
      headers: { accept: 'text/event-stream, application/json' },
      body: multipart(partsOf(job, { isStreamed: true })),
      takesJson: true,
      stalledMs,
      signal,
    })

    async function* chunks(): AsyncGenerator<string, void, undefined> {
      try {
        // A vendor whose model cannot stream answers as if it had not been asked to.
        if (isJson(headers)) {
          const text = await readText(bytes, longestAnswerBytes)
          yield transcriptIn(text === undefined ? undefined : parseJson(text), job).text
        } else yield* chunksIn(sentEvents(bytes, what(job)))
      } finally {
        bytes.destroy()
      }
    }

    async function* chunksIn(events: AsyncGenerator<string>): AsyncGenerator<string, void, undefined> {
      let told = ''
      for await (const data of events) {
        const event = parseJson(data)
        const type = textOf(member(event, 'type'))
        if (type === 'transcript.text.delta') {
          const delta = member(event, 'delta')
          if (typeof delta !== 'string' || delta === '') continue
          told += delta
          yield delta
        } else if (type === 'transcript.text.done') {
          const text = member(event, 'text')
          // Some send the end of it, or all of it, with this event alone.
          if (typeof text === 'string' && text.length > told.length && text.startsWith(told)) {
            yield text.slice(told.length)
          }
          return
        } else if (vendorErrorIn(event)?.message !== undefined && member(event, 'error') !== undefined) {
          throw failureIn(event)
        }
      }
      throw new ProviderFailure('unknown', `${what(job)} broke off before its end`)
    }

    /** What goes wrong once an answer has begun can only be told inside it; it has no status of its own. */
    function failureIn(event: unknown): ProviderFailure {
      const answer = { what: what(job), status: 400, headers: {}, body: event }
      return isOurs ? failureOfOurs(answer, upstream.redact) : failureOfAnswer(answer, upstream.redact)
    }

    return { engine: isOurs ? engineIn(headers) : undefined, chunks: chunks() }
  }

  return { transcribe, streamTranscript }
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
  // The file comes last: who reads the form as it comes knows by then what to do with it.
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
    durationSeconds: numberOf(member(body, 'duration')),
    segments: job.wantsSegments ? listIn(body, 'segments', job, segmentIn(job)) : undefined,
    words: job.wantsWords ? listIn(body, 'words', job, wordIn) : undefined,
  }
}

/** The members of a list that was asked for; a provider that leaves it out has not answered. */
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

/** Times and text must be there; a figure that a vendor does not know is zero. */
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

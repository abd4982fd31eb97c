import type { Readable } from 'node:stream'

import { engineIn } from '../kit/engine.ts'
import { failureOfAnswer, failureOfOurs } from '../kit/http/classify.ts'
import { jsonWithTexts } from '../kit/http/json-with-texts.ts'
import type { StreamedBody } from '../kit/http/multipart.ts'
import { readSseEvents } from '../kit/http/sse-events.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { vendorErrorIn } from '../kit/http/vendor-error.ts'
import { member, numberOf, parseJson, textOf } from '../kit/json/lenient-json.ts'
import type {
  DialogueChoice,
  DialogueJob,
  DialogueMessage,
  DialogueChunk,
  DialogueProvider,
  DialogueReply,
  DialogueStream,
  DialogueUsage,
  SpokenReply,
} from '../port/dialogue.ts'
import { ProviderFailure } from '../port/failure.ts'

export interface OpenAiDialogueSettings {
  /** With or without `/v1` at the end. */
  baseUrl: string
  apiKey: string | undefined
  traceparent?: boolean | undefined
  /** The built-in provider uses the same protocol and also reports its engine. */
  isOurs: boolean
}

/** Minutes of speech in base64, buffered as a whole. */
const answerBytesMax = 96 * 1024 * 1024
/** A slow machine may take a while for the next token. */
const stalledMs = 180_000
const what = 'dialogue'

/** The `/v1/chat/completions` protocol with audio. */
export function openAiDialogue(settings: OpenAiDialogueSettings): DialogueProvider {
  const { isOurs } = settings
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    traceparent: settings.traceparent,
    isOurs,
    // A reply uses its connection until it is complete.
    connections: 256,
  })
  const call = (body: StreamedBody, signal: AbortSignal) =>
    ({
      what,
      method: 'POST',
      path: '/v1/chat/completions',
      body,
      // A reply costs money and is not retried, so a reused connection is not worth the risk.
      freshConnection: true,
      signal,
    }) as const

  /** An error inside a stream. */
  function failureIn(event: unknown): ProviderFailure | undefined {
    if (member(event, 'error') === undefined) return undefined
    const answer = { what, status: 400, headers: {}, body: event }
    return (isOurs ? failureOfOurs : failureOfAnswer)(answer, upstream.redact)
  }

  async function reply(job: DialogueJob, signal: AbortSignal): Promise<DialogueReply> {
    const { headers, body } = await upstream.callJson({ ...call(bodyOf(job), signal), answerBytesMax })
    const given: unknown = member(body, 'choices')
    const choices = Array.isArray(given) ? given.map((choice) => choiceOf(choice, job)) : []
    if (choices.length === 0) {
      const vendorError = vendorErrorIn(member(body, 'error'))
      throw new ProviderFailure(
        'unknown',
        upstream.redact(`${what} answered nothing: ${vendorError?.message ?? ''}`),
      )
    }
    const isUsable = choices.some(({ text, audio }) => text !== '' || audio !== undefined)
    if (!isUsable) assertSaidSomething(choices.map(({ finishReason }) => finishReason))
    return { choices, usage: usageOf(member(body, 'usage')), engine: isOurs ? engineIn(headers) : undefined }
  }

  async function* chunksIn(bytes: Readable, job: DialogueJob): DialogueStream['chunks'] {
    const ended = new Set<number>()
    let isSilent = true
    for await (const data of readSseEvents(bytes, what)) {
      if (data.trim() === '[DONE]') break
      const event = parseJson(data)
      const failure = failureIn(event)
      if (failure !== undefined) throw failure
      const choices: unknown = member(event, 'choices')
      for (const choice of Array.isArray(choices) ? choices : []) {
        const index = numberOf(member(choice, 'index')) ?? 0
        if (!Number.isInteger(index) || index < 0 || index >= job.n || ended.has(index)) continue
        const text = member(member(choice, 'delta'), 'content')
        if (typeof text === 'string' && text !== '') {
          isSilent = false
          yield { kind: 'text', index, text }
        }
        const reason = textOf(member(choice, 'finish_reason'))
        if (reason === undefined) continue
        ended.add(index)
        const finishReason = finishReasonOf(reason)
        if (isSilent && ended.size === job.n) assertSaidSomething([finishReason])
        yield { kind: 'end', index, finishReason }
      }
      const usage = usageOf(member(event, 'usage'))
      if (usage !== undefined) yield { kind: 'usage', usage } satisfies DialogueChunk
    }
    if (ended.size < job.n) throw new ProviderFailure('unknown', `${what} stopped before its end`)
  }

  async function streamReply(job: DialogueJob, signal: AbortSignal): Promise<DialogueStream> {
    const streamed = { stream: true, stream_options: { include_usage: true } }
    const { headers, bytes } = await upstream.openAnswer({
      ...call(bodyOf(job, streamed), signal),
      headers: { accept: 'text/event-stream' },
      stalledMs,
    })
    return { engine: isOurs ? engineIn(headers) : undefined, chunks: chunksIn(bytes, job) }
  }

  return { reply, streamReply }
}

/** Builds the request; recordings are streamed into their places. */
function bodyOf(job: DialogueJob, more: object = {}): StreamedBody {
  return jsonWithTexts((insert) => {
    const partOf = (part: Exclude<DialogueMessage['content'], string>[number]) =>
      part.kind === 'text'
        ? { type: 'text', text: part.text }
        : {
            type: 'input_audio',
            input_audio: {
              data: insert({ sizeBytes: part.sizeBytes, open: part.openBase64 }),
              format: part.format,
            },
          }
    const messageOf = ({ role, content, audioId }: DialogueMessage) => ({
      role,
      ...(content === '' && audioId !== undefined
        ? {}
        : { content: typeof content === 'string' ? content : content.map(partOf) }),
      ...(audioId !== undefined && { audio: { id: audioId } }),
    })
    return {
      model: job.model,
      messages: job.messages.map(messageOf),
      modalities: job.audio === undefined ? ['text'] : ['text', 'audio'],
      audio: job.audio,
      temperature: job.temperature,
      top_p: job.topP,
      max_tokens: job.maxTokens,
      n: job.n === 1 ? undefined : job.n,
      stop: job.stop,
      seed: job.seed,
      ...more,
    }
  })
}

function choiceOf(choice: unknown, job: DialogueJob): DialogueChoice {
  const message = member(choice, 'message')
  const audio = spokenIn(member(message, 'audio'))
  const content = member(message, 'content') ?? member(message, 'refusal')
  const finishReason = finishReasonOf(textOf(member(choice, 'finish_reason')))
  if (job.audio !== undefined && audio === undefined && finishReason === 'stop') {
    throw new ProviderFailure('unknown', `${what} answered without the sound that was asked for`)
  }
  // With audio, many vendors put the text only into the transcript.
  const text = typeof content === 'string' && content !== '' ? content : (audio?.transcript ?? '')
  return { text, audio, finishReason }
}

function spokenIn(audio: unknown): SpokenReply | undefined {
  const [id, data] = [textOf(member(audio, 'id')), member(audio, 'data')]
  if (id === undefined || typeof data !== 'string' || data === '') return undefined
  const transcript = member(audio, 'transcript')
  return {
    id,
    data,
    transcript: typeof transcript === 'string' ? transcript : '',
    expiresAt: Math.floor(numberOf(member(audio, 'expires_at')) ?? Date.now() / 1000),
  }
}

function finishReasonOf(reason: string | undefined): DialogueChoice['finishReason'] {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop'
}

/** Throws for an empty reply with a known reason. */
function assertSaidSomething(reasons: DialogueChoice['finishReason'][]): void {
  if (reasons.includes('content_filter')) {
    throw new ProviderFailure('moderated', `${what} was stopped for its content`, {
      code: 'content_policy_violation',
    })
  }
  if (reasons.includes('length')) {
    throw new ProviderFailure('rejected', `${what} reached its length limit before any output`, {
      code: 'output_length_exceeded',
    })
  }
}

function usageOf(usage: unknown): DialogueUsage | undefined {
  const tokens = (name: string, within: unknown = usage) => {
    const count = numberOf(member(within, name))
    return count === undefined ? undefined : Math.max(0, Math.round(count))
  }
  const input = tokens('prompt_tokens')
  const output = tokens('completion_tokens')
  if (input === undefined || output === undefined) return undefined
  const inputAudio = Math.min(input, tokens('audio_tokens', member(usage, 'prompt_tokens_details')) ?? 0)
  const outputAudio = Math.min(
    output,
    tokens('audio_tokens', member(usage, 'completion_tokens_details')) ?? 0,
  )
  return {
    inputTextTokens: input - inputAudio,
    inputAudioTokens: inputAudio,
    outputTextTokens: output - outputAudio,
    outputAudioTokens: outputAudio,
  }
}

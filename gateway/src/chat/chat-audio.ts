/**
 * Audio chat: text and recordings in, text or speech out, while the caller waits. The hold covers the most that the
 * reply can cost. The charge follows the provider's usage or, if it reports none, our own count.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'
import type { ChatCompletion } from '@kinora/contract/operations/chat'

import { assertPaysAsYouGo } from '../audio/payg-rule.ts'
import { engineHeaders, problemOf } from '../audio/provider-problem.ts'
import { takeSlot } from '../audio/take-slot.ts'
import type { Meter, Metered } from '../billing/metering/meter.ts'
import type { PriceList } from '../billing/prices/price-list.ts'
import type { Call, Reply } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { readMetadata } from '../metadata/read-metadata.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import type { ChatModel } from '../models/model.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { createDeferredAbort } from '../platform/streams/deferred-abort.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import type {
  DialogueJob,
  DialogueMessage,
  DialogueChunk,
  DialogueProvider,
  DialogueStream,
  DialogueUsage,
} from '../providers/port/dialogue.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { CompareDurations } from '../routing/compare-durations.ts'
import type { Requirements, Route, Router } from '../routing/route.ts'
import { chunkOf, completionOf, tokensOf, usageOf, type ReplyHead } from './chat-audio-response.ts'
import type { TokenCounter } from './count-tokens.ts'
import {
  chatAudioBodyFor,
  usesAudio,
  readMessages,
  readReplyAudio,
  readStops,
  readWantsUsage,
  tooLong,
  type ParsedMessage,
} from './read-chat-audio.ts'
import { invalid } from './read-member.ts'
import {
  withRecordings,
  type Recording,
  type RecordingDependencies,
  type SentRecording,
} from './recordings.ts'
import type { ReplyIds } from './reply-id.ts'

export type ChatAudio = (call: Call, model: ChatModel) => Promise<Reply<ChatCompletion | EventStream | Quote>>

export interface ChatAudioDependencies extends RecordingDependencies {
  router: Router
  prices: PriceList
  meter: Meter
  tokens: TokenCounter
  replyIds: ReplyIds
  compareDurations: CompareDurations
}

/** The timeout for a reply, streamed or not. */
const replyMsMax = 280_000
/** Tokens of a message beside its text: its role and its end. */
const tokensPerMessage = 8

/** The size of the input, before a provider has counted it. */
interface Input {
  texts: string[]
  messageCount: number
  /** An upper bound. */
  textTokensMax: number
  audioTokens: number
}

const textsOf = (messages: ParsedMessage[]): string[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string'
      ? content
      : content.flatMap((part) => (part.kind === 'text' ? part.text : [])),
  )

const recordingsOf = (messages: ParsedMessage[]): SentRecording[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => (part.kind === 'audio' ? part.sent : [])),
  )

/**
 * Measures a conversation and refuses one that exceeds the context. A token has at least one byte, so the tokenizer only
 * runs if the number of bytes exceeds the limit.
 */
const measureInput = async (
  { tokens }: ChatAudioDependencies,
  messages: ParsedMessage[],
  recordings: Map<SentRecording, Recording>,
  model: ChatModel,
): Promise<Input> => {
  const texts = textsOf(messages)
  const seconds = [...recordings.values()].reduce((sum, recording) => sum + recording.seconds, 0)
  const audioTokens = Math.ceil(seconds * model.audioTokensPerSecond)
  const left = model.contextTokens - audioTokens
  const frameTokens = messages.length * tokensPerMessage
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const textTokens = bytes <= left || left < 0 ? bytes : await tokens.count(texts, left + 1)
  if (left < 0 || textTokens > left) throw tooLong(model)
  return { texts, messageCount: messages.length, textTokensMax: textTokens + frameTokens, audioTokens }
}

/** The usage if the provider reports none: only the tokens that are certain. */
const countUsage = async (
  { tokens }: ChatAudioDependencies,
  { texts, audioTokens }: Input,
  output: string[],
): Promise<DialogueUsage> => ({
  inputTextTokens: await tokens.count(texts),
  inputAudioTokens: audioTokens,
  outputTextTokens: await tokens.count(output),
  outputAudioTokens: 0,
})

const messagesFor = (
  messages: ParsedMessage[],
  recordings: Map<SentRecording, Recording>,
  openReplyId: (id: string) => string | undefined,
): DialogueMessage[] =>
  messages.map(({ role, content, replyId }) => {
    const audioId = replyId === undefined ? undefined : openReplyId(replyId.id)
    if (typeof content === 'string') return { role, content, audioId }
    const parts = content.flatMap((part) => {
      if (part.kind === 'text') return part
      return recordings.get(part.sent)?.part ?? []
    })
    return { role, content: parts, audioId }
  })

interface OpenChat {
  head: ReplyHead
  input: Input
  /** Contains the provider's own names for the model and for earlier replies. */
  jobFor: (route: Route) => DialogueJob
  n: number
  requirements: Requirements
  metered: Metered
  model: ChatModel
  /** The prices at the start of the request, even if an operator changes them later. */
  pricesOf: ReturnType<PriceList['pricesOf']>
  signal: AbortSignal
}

/** Compares the recordings of the input with what the provider has counted. */
const compareInput = (
  { compareDurations }: ChatAudioDependencies,
  { model, input }: OpenChat,
  { provider }: Route,
  id: string,
  usage: DialogueUsage | undefined,
) => {
  if (input.audioTokens === 0) return
  const { audioTokensPerSecond } = model
  compareDurations({
    ...{ provider: provider.name, model: model.id, id },
    measuredSeconds: input.audioTokens / audioTokensPerSecond,
    reportedSeconds: usage && usage.inputAudioTokens / audioTokensPerSecond,
  })
}

const streamed = (
  dependencies: ChatAudioDependencies,
  { head, input, n, metered, model, pricesOf, signal, writeError }: OpenChat & Pick<Call, 'writeError'>,
  first: IteratorResult<DialogueChunk, void>,
  chunks: DialogueStream['chunks'],
  reportBroken: () => void,
  compareUsage: (usage: DialogueUsage | undefined) => void,
  wantsUsage: boolean,
): EventStream => {
  const texts = Array.from({ length: n }, () => '')
  const count = (chunk: DialogueChunk) => {
    if (chunk.kind === 'usage') used = chunk.usage
    else if (chunk.kind === 'text') texts[chunk.index] += chunk.text
  }
  const noUsage = wantsUsage ? null : undefined
  let used: DialogueUsage | undefined
  let isSettled = false
  // The first chunk counts as output even if the client has disconnected and never reads it.
  if (first.done !== true) count(first.value)
  const settle = async (outcome: 'completed' | 'aborted') => {
    isSettled = true
    compareUsage(used)
    const counted = used ?? (await countUsage(dependencies, input, texts))
    await metered.settle(outcome, pricesOf(tokensOf(counted)))
    return counted
  }
  async function* events(): EventStream {
    try {
      for (const index of texts.keys()) {
        yield chunkOf(
          head,
          [{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }],
          noUsage,
        )
      }
      for (let step = first; step.done !== true; step = await chunks.next()) {
        const chunk = step.value
        if (step !== first) count(chunk)
        if (chunk.kind === 'text') {
          const { index, text: content } = chunk
          yield chunkOf(head, [{ index, delta: { content }, finish_reason: null }], noUsage)
        } else if (chunk.kind === 'end') {
          yield chunkOf(head, [{ index: chunk.index, delta: {}, finish_reason: chunk.finishReason }], noUsage)
        }
      }
      const usage = usageOf(await settle('completed'))
      if (wantsUsage) yield chunkOf(head, [], usage)
      yield { data: '[DONE]' }
    } catch (error) {
      if (signal.aborted) return
      isSettled = true
      if (error instanceof ProviderFailure) reportBroken()
      await metered.settle('failed', [])
      const problem = problemOf(error, { model: model.name, input: 'messages' })
      yield { data: writeError(problem instanceof ApiError ? problem : new ApiError('internal_error')) }
      yield { data: '[DONE]' }
    }
  }
  return withFinalizer(events(), async () => {
    await chunks.return().catch(() => undefined)
    if (isSettled) return
    // A disconnected client pays for the input and the output so far, or nothing if the count fails.
    await settle('aborted').catch(() => undefined)
    await metered.settle('aborted', [])
  })
}

export const createChatAudio = (dependencies: ChatAudioDependencies): ChatAudio => {
  const { router, prices, meter, replyIds } = dependencies

  /** The provider that made the earlier replies that the messages refer to. No other provider knows them. */
  const providerOfReplies = (
    accountId: string,
    model: ChatModel,
    messages: ParsedMessage[],
  ): string | undefined => {
    const replies = messages.flatMap(({ replyId }) => replyId ?? [])
    const [first] = replies
    if (first === undefined) return undefined
    const isOf = (name: string) => (reply: typeof first) =>
      replyIds.open(accountId, name, reply.id) !== undefined
    const providers = router.routesOf(model.id, 'dialogue').map(({ provider }) => provider.name)
    const provider = providers.find((name) => isOf(name)(first))
    const unknown = provider === undefined ? first : replies.find((reply) => !isOf(provider)(reply))
    if (unknown !== undefined) throw invalid(unknown.param, 'the id of an audio reply of this conversation')
    return provider
  }

  const respond = async (
    { call, ...chat }: OpenChat & { call: Call },
    wants: { stream: boolean; usage: boolean },
  ): Promise<Reply<ChatCompletion | EventStream>> => {
    const { head, input, jobFor, requirements, metered, model, signal } = chat
    // A disconnect does not abort the provider before it answers, because the provider charges for the request.
    const work = createDeferredAbort(signal, replyMsMax)
    const startedMs = performance.now()
    const headers = (engine: DialogueStream['engine']) => ({
      ...deprecationHeaders(model, call),
      ...engineHeaders(engine),
    })
    const callProvider = <Answer>(
      request: (dialogue: DialogueProvider, job: DialogueJob) => Promise<Answer>,
    ) =>
      router.call(model.id, requirements, signal, async (route) => {
        const { name, dialogue } = route.provider
        call.note({ provider: name })
        metered.servedBy(route)
        if (dialogue === undefined)
          throw new ProviderFailure('rejected', 'the provider has no dialogue capability')
        await takeSlot(call, route.provider)
        return request(dialogue, jobFor(route))
      })
    try {
      if (wants.stream) {
        // Before the first chunk the router can fail over, and a failure can still become an HTTP error status.
        const { answer: started, route } = await callProvider(async (dialogue, job) => {
          const stream = await dialogue.streamReply(job, work.signal)
          return { ...stream, first: await stream.chunks.next() }
        })
        work.attach()
        const { engine, chunks, first } = started
        const reportBroken = () => router.report(route.provider.name, model.id, 'unknown', { startedMs })
        const compareUsage = (usage: DialogueUsage | undefined) =>
          compareInput(dependencies, chat, route, call.requestId, usage)
        const events = streamed(
          dependencies,
          { ...chat, writeError: call.writeError },
          first,
          chunks,
          reportBroken,
          compareUsage,
          wants.usage,
        )
        const body = withFinalizer(events, async () => call.releaseSlot())
        return { headers: headers(engine), body }
      }
      const { answer: reply, route } = await callProvider((dialogue, job) => dialogue.reply(job, work.signal))
      call.releaseSlot()
      const output = reply.choices.map(({ text }) => text)
      compareInput(dependencies, chat, route, call.requestId, reply.usage)
      const used = reply.usage ?? (await countUsage(dependencies, input, output))
      await metered.settle(signal.aborted ? 'aborted' : 'completed', chat.pricesOf(tokensOf(used)))
      const idOf = (upstreamId: string) =>
        replyIds.seal(call.caller.accountId, route.provider.name, upstreamId)
      return { headers: headers(reply.engine), body: completionOf(head, reply, used, idOf) }
    } catch (error) {
      call.releaseSlot()
      await metered.settle(signal.aborted ? 'aborted' : 'failed', [])
      throw problemOf(error, { model: model.name, input: 'messages' })
    }
  }

  return async (call, model) => {
    const { caller, fields, signal } = call
    if (usesAudio(fields)) assertPaysAsYouGo(caller)
    const body = call.read(chatAudioBodyFor(model))
    const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? model.outputTokensDefault
    const audio = readReplyAudio(fields, model)
    const stop = readStops(fields)
    const isStreamed = body.stream === true
    const wants = { stream: isStreamed, usage: readWantsUsage(fields) }
    if (isStreamed && audio !== undefined) {
      throw invalid('stream', 'false for an audio reply')
    }
    const { n = 1 } = body
    const metadata = readMetadata(fields.value('metadata'))
    const messages = await readMessages(call, model)
    const onlyAt = providerOfReplies(caller.accountId, model, messages)

    return withRecordings(dependencies, recordingsOf(messages), call.mediaWork, async (recordings) => {
      const input = await measureInput(dependencies, messages, recordings, model)
      const jobFor = ({ provider, upstreamModel }: Route): DialogueJob => ({
        model: upstreamModel,
        messages: messagesFor(messages, recordings, (id) =>
          replyIds.open(caller.accountId, provider.name, id),
        ),
        audio,
        temperature: body.temperature,
        topP: body.top_p,
        maxTokens,
        n,
        stop,
        seed: body.seed,
      })
      const outputTokens = n * maxTokens
      const pricesOf = prices.pricesOf(model)
      const order = {
        caller,
        requestId: call.requestId,
        signal,
        operation: 'completeChat',
        model,
        metadata,
        provider: onlyAt ?? router.routesOf(model.id, 'dialogue')[0]?.provider.name ?? '',
        heldFor: pricesOf(
          tokensOf({
            inputTextTokens: input.textTokensMax,
            inputAudioTokens: input.audioTokens,
            outputTextTokens: audio === undefined ? outputTokens : 0,
            outputAudioTokens: audio === undefined ? 0 : outputTokens,
          }),
        ),
      }
      if (call.wantsQuote) {
        const understood = {
          ...body,
          ...(metadata && { metadata }),
          n,
          max_tokens: maxTokens,
          messages: messages.length,
        }
        return { headers: deprecationHeaders(model, call), body: await meter.quote(order, understood) }
      }
      const metered = await meter.open(order)
      const head = { id: `chatcmpl-${uuidV7()}`, created: Math.floor(Date.now() / 1000), model: model.name }
      const requirements = { capability: 'dialogue', onlyAt, outlivesClient: true } as const
      return respond({ call, head, input, jobFor, n, requirements, metered, model, pricesOf, signal }, wants)
    })
  }
}

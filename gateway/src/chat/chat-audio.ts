/**
 * A conversation with a model that talks: text and recordings in, text or speech out, while the caller waits. Money is
 * held for the most the reply can cost; what the provider says was used is charged, or what can be counted here.
 */
import type { Quote } from '@kinora/contract/operations/account'
import type { ChatCompletion } from '@kinora/contract/operations/chat'

import { assertPaysAsYouGo } from '../audio/payg-rule.ts'
import { engineHeaders, problemOf } from '../audio/provider-problem.ts'
import type { Meter, Metered } from '../billing/metering/meter.ts'
import type { PriceList, TokenRates } from '../billing/prices/price-list.ts'
import type { Call, Reply } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import type { ChatModel } from '../models/model.ts'
import { createDeferredAbort } from '../platform/streams/deferred-abort.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import { uuidV7 } from '../platform/uuid.ts'
import type {
  DialogueJob,
  DialogueMessage,
  DialogueChunk,
  DialogueProvider,
  DialogueStream,
  DialogueUsage,
} from '../providers/port/dialogue.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Requirements, Route, Router } from '../routing/route.ts'
import type { TokenCounter } from './count-tokens.ts'
import { priceOfTokens } from './dialogue-price.ts'
import { chunkOf, completionOf, errorEventOf, usageOf, type ReplyHead } from './dialogue-reply.ts'
import {
  dialogueBodyFor,
  isWithSound,
  readMessages,
  readReplyAudio,
  readStops,
  readWantsUsage,
  tooLong,
  type AskedMessage,
} from './read-dialogue.ts'
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
}

/** A provider that has not answered by then is not going to. */
const replyMsMax = 280_000
/** What a message counts for beside its text: who speaks, and where it ends. */
const tokensPerMessage = 8

/** What goes in, as far as it can be known before a provider has counted it. */
interface Input {
  texts: string[]
  messageCount: number
  /** At least as many as there are. */
  textTokensMax: number
  audioTokens: number
}

const textsOf = (messages: AskedMessage[]): string[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string'
      ? content
      : content.flatMap((part) => (part.kind === 'text' ? part.text : [])),
  )

const recordingsOf = (messages: AskedMessage[]): SentRecording[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => (part.kind === 'audio' ? part.sent : [])),
  )

/** Measures a conversation, or says that it is too long. A token is never less than a byte, so few are ever counted. */
const measureInput = async (
  { tokens }: ChatAudioDependencies,
  messages: AskedMessage[],
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

/** What was used, where the provider did not count it: no more than is certain. */
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
  messages: AskedMessage[],
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

interface Turn {
  head: ReplyHead
  input: Input
  /** As it is put to a provider, which has names of its own for the model and for earlier replies. */
  jobFor: (route: Route) => DialogueJob
  n: number
  need: Requirements
  metered: Metered
  model: ChatModel
  /** Those that held when it began, whatever is set in between. */
  rates: TokenRates
  signal: AbortSignal
}

const streamed = (
  dependencies: ChatAudioDependencies,
  { head, input, n, metered, model, rates, signal }: Turn,
  first: IteratorResult<DialogueChunk, void>,
  chunks: DialogueStream['chunks'],
  provider: string,
  wantsUsage: boolean,
): EventStream => {
  const said = Array.from({ length: n }, () => '')
  const hear = (chunk: DialogueChunk) => {
    if (chunk.kind === 'usage') used = chunk.usage
    else if (chunk.kind === 'text') said[chunk.index] += chunk.text
  }
  const noUsage = wantsUsage ? null : undefined
  let used: DialogueUsage | undefined
  let isSettled = false
  // It was made, whether or not anybody is left to read it.
  if (first.done !== true) hear(first.value)
  const settle = async (outcome: 'completed' | 'aborted') => {
    isSettled = true
    const counted = used ?? (await countUsage(dependencies, input, said))
    await metered.settle(outcome, priceOfTokens(counted, rates))
    return counted
  }
  async function* events(): EventStream {
    try {
      for (const index of said.keys()) {
        yield chunkOf(
          head,
          [{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }],
          noUsage,
        )
      }
      for (let step = first; step.done !== true; step = await chunks.next()) {
        const chunk = step.value
        if (step !== first) hear(chunk)
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
      if (error instanceof ProviderFailure) dependencies.router.report(provider, model.id, 'unknown')
      await metered.settle('failed', [])
      yield errorEventOf(problemOf(error, { model: model.id, input: 'messages' }))
      yield { data: '[DONE]' }
    }
  }
  return withFinalizer(events(), async () => {
    await chunks.return().catch(() => undefined)
    if (isSettled) return
    // A client that leaves pays for what went in and what was said until then; nothing where that cannot be counted.
    await settle('aborted').catch(() => undefined)
    await metered.settle('aborted', [])
  })
}

export const createChatAudio = (dependencies: ChatAudioDependencies): ChatAudio => {
  const { router, prices, meter, replyIds } = dependencies

  /** Whoever made the earlier replies that are named is the only one who knows them. */
  const makerOf = (accountId: string, model: ChatModel, messages: AskedMessage[]): string | undefined => {
    const named = messages.flatMap(({ replyId }) => replyId ?? [])
    const [first] = named
    if (first === undefined) return undefined
    const isOf = (name: string) => (reply: typeof first) =>
      replyIds.open(accountId, name, reply.id) !== undefined
    const makers = router.routesOf(model.id, 'dialogue').map(({ provider }) => provider.name)
    const maker = makers.find((name) => isOf(name)(first))
    const stranger = maker === undefined ? first : named.find((reply) => !isOf(maker)(reply))
    if (stranger !== undefined) {
      throw invalid(stranger.param, 'the id of a spoken reply of this conversation')
    }
    return maker
  }

  const answer = async (
    { call, ...turn }: Turn & { call: Call },
    wants: { stream: boolean; usage: boolean },
  ): Promise<Reply<ChatCompletion | EventStream>> => {
    const { head, input, jobFor, need, metered, model, signal } = turn
    // A provider is paid for what it was asked, so a client that disconnects does not end its work before it answers.
    const work = createDeferredAbort(signal, replyMsMax)
    const headers = (engine: DialogueStream['engine']) => ({
      ...deprecationHeaders(model),
      ...engineHeaders(engine),
    })
    const ask = <Answer>(put: (dialogue: DialogueProvider, job: DialogueJob) => Promise<Answer>) =>
      router.call(model.id, need, signal, async (route) => {
        const { name, dialogue } = route.provider
        call.note({ provider: name })
        metered.servedBy(name)
        if (dialogue === undefined) throw new ProviderFailure('rejected', 'it cannot talk')
        return put(dialogue, jobFor(route))
      })
    try {
      if (wants.stream) {
        // Until something has been said, another can be asked, and what goes wrong can still be told by a status.
        const { answer: begun, route } = await ask(async (dialogue, job) => {
          const stream = await dialogue.streamReply(job, work.signal)
          return { ...stream, first: await stream.chunks.next() }
        })
        work.attach()
        const { engine, chunks, first } = begun
        const body = streamed(dependencies, turn, first, chunks, route.provider.name, wants.usage)
        return { headers: headers(engine), body }
      }
      const { answer: reply, route } = await ask((dialogue, job) => dialogue.reply(job, work.signal))
      const output = reply.choices.map(({ text }) => text)
      const used = reply.usage ?? (await countUsage(dependencies, input, output))
      await metered.settle(signal.aborted ? 'aborted' : 'completed', priceOfTokens(used, turn.rates))
      const idOf = (upstreamId: string) =>
        replyIds.seal(call.caller.accountId, route.provider.name, upstreamId)
      return { headers: headers(reply.engine), body: completionOf(head, reply, used, idOf) }
    } catch (error) {
      await metered.settle(signal.aborted ? 'aborted' : 'failed', [])
      throw problemOf(error, { model: model.id, input: 'messages' })
    }
  }

  return async (call, model) => {
    const { caller, fields, signal } = call
    if (isWithSound(fields)) assertPaysAsYouGo(caller)
    const body = call.read(dialogueBodyFor(model))
    const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? model.outputTokensDefault
    const audio = readReplyAudio(fields, model)
    const stop = readStops(fields)
    const isStreamed = body.stream === true
    const wants = { stream: isStreamed, usage: readWantsUsage(fields) }
    if (isStreamed && audio !== undefined) {
      throw invalid('stream', 'false where the reply is to be spoken')
    }
    const { n = 1 } = body
    const messages = await readMessages(call, model)
    const onlyAt = makerOf(caller.accountId, model, messages)

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
      const rates = prices.tokenPrices(model)
      const order = {
        caller,
        requestId: call.requestId,
        signal,
        operation: 'completeChat',
        model: model.id,
        provider: onlyAt ?? router.routesOf(model.id, 'dialogue')[0]?.provider.name ?? '',
        heldFor: priceOfTokens(
          {
            inputTextTokens: input.textTokensMax,
            inputAudioTokens: input.audioTokens,
            outputTextTokens: audio === undefined ? outputTokens : 0,
            outputAudioTokens: audio === undefined ? 0 : outputTokens,
          },
          rates,
        ),
      }
      if (call.wantsQuote) {
        const understood = { ...body, n, max_tokens: maxTokens, messages: messages.length }
        return { headers: deprecationHeaders(model), body: await meter.quote(order, understood) }
      }
      const metered = await meter.open(order)
      const head = { id: `chatcmpl-${uuidV7()}`, created: Math.floor(Date.now() / 1000), model: model.id }
      const need = { capability: 'dialogue', onlyAt, outlivesClient: true } as const
      return answer({ call, head, input, jobFor, n, need, metered, model, rates, signal }, wants)
    })
  }
}

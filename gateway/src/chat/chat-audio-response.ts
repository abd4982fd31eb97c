/** Response objects of audio chat. They contain no ids or names of the provider. */
import type { ChatChunk, ChatCompletion, ChatUsage } from '@kinora/contract/operations/chat'

import type { SentEvent } from '../http/sse.ts'
import type { PricedWork, PriceUnit } from '../models/price-rule.ts'
import type { DialogueReply, DialogueUsage } from '../providers/port/dialogue.ts'

/** The fields that all objects of one reply share. */
export interface ReplyHead {
  id: string
  created: number
  model: string
}

/** The tokens to charge for. Kinds without any have no line on the receipt. */
export const tokensOf = (usage: DialogueUsage): PricedWork => {
  const rows: [PriceUnit, number][] = [
    ['million_text_input_tokens', usage.inputTextTokens],
    ['million_audio_input_tokens', usage.inputAudioTokens],
    ['million_text_output_tokens', usage.outputTextTokens],
    ['million_audio_output_tokens', usage.outputAudioTokens],
  ]
  return { counted: Object.fromEntries(rows.filter(([, tokens]) => tokens > 0)) }
}

export const usageOf = (used: DialogueUsage): ChatUsage => {
  const promptTokens = used.inputTextTokens + used.inputAudioTokens
  const completionTokens = used.outputTextTokens + used.outputAudioTokens
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { text_tokens: used.inputTextTokens, audio_tokens: used.inputAudioTokens },
    completion_tokens_details: { text_tokens: used.outputTextTokens, audio_tokens: used.outputAudioTokens },
  }
}

export const completionOf = (
  head: ReplyHead,
  { choices }: DialogueReply,
  used: DialogueUsage,
  idOf: (upstreamId: string) => string,
): ChatCompletion => ({
  id: head.id,
  object: 'chat.completion',
  created: head.created,
  model: head.model,
  choices: choices.map(({ text, audio, finishReason }, index) => ({
    index,
    message: {
      role: 'assistant',
      content: text,
      ...(audio !== undefined && {
        audio: {
          id: idOf(audio.id),
          expires_at: audio.expiresAt,
          data: audio.data,
          transcript: audio.transcript,
        },
      }),
    },
    finish_reason: finishReason,
  })),
  usage: usageOf(used),
})

export const chunkOf = (
  { id, created, model }: ReplyHead,
  choices: ChatChunk['choices'],
  usage: ChatChunk['usage'],
): SentEvent => {
  const chunk: ChatChunk = {
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices,
    ...(usage !== undefined && { usage }),
  }
  return { data: JSON.stringify(chunk) }
}

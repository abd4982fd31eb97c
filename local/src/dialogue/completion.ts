import { randomUUID } from 'node:crypto'

import { dialogueModel } from './chat-order.ts'
import type { FinishReason } from './dialogue-task.ts'

/** Each started tenth of a second of audio counts as one token. */
const tokensPerSecond = 10

export interface Counted {
  textTokens: number
  soundSeconds: number
}

interface SpokenMessage {
  id: string
  data: string
  transcript: string
  expires_at: number
}

export interface FinishedChoice {
  text: string
  reason: FinishReason
  audio: SpokenMessage | undefined
}

/** The fields that all objects of one response share. */
export interface AnswerHead {
  id: string
  created: number
  model: string
}

export function startAnswer(): AnswerHead {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: dialogueModel }
}

export function completionOf(head: AnswerHead, choices: FinishedChoice[], usage: object | undefined) {
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ text, reason, audio }, index) => ({
      index,
      message: { role: 'assistant', content: text, ...(audio === undefined ? {} : { audio }) },
      finish_reason: reason,
    })),
    ...(usage === undefined ? {} : { usage }),
  }
}

export function chunkOf(
  head: AnswerHead,
  index: number,
  delta: { role?: 'assistant'; content?: string },
  reason: FinishReason | null,
) {
  return { ...head, object: 'chat.completion.chunk', choices: [{ index, delta, finish_reason: reason }] }
}

export function usageChunkOf(head: AnswerHead, usage: object) {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage }
}

export function usageOf(read: Counted, made: Counted) {
  const prompt = tokensOf(read)
  const completion = tokensOf(made)
  const promptTokens = prompt.text_tokens + prompt.audio_tokens
  const completionTokens = completion.text_tokens + completion.audio_tokens
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: prompt,
    completion_tokens_details: completion,
  }
}

function tokensOf({ textTokens, soundSeconds }: Counted) {
  return { text_tokens: textTokens, audio_tokens: soundTokensOf(soundSeconds) }
}

export function soundTokensOf(seconds: number): number {
  return Math.ceil(seconds * tokensPerSecond)
}

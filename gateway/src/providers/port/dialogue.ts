import type { Readable } from 'node:stream'

import type { Engine } from './engine.ts'

/** A part of a message. Audio stays where it was spooled, as base64 text, until it is sent. */
export type DialoguePart =
  | { kind: 'text'; text: string }
  | {
      kind: 'audio'
      format: 'wav' | 'mp3'
      /** Of the base64 text. */
      sizeBytes: number
      openBase64: () => Promise<Readable>
    }

export interface DialogueMessage {
  role: 'system' | 'developer' | 'user' | 'assistant'
  content: string | DialoguePart[]
  /** Names an earlier spoken reply instead of repeating it. */
  audioId: string | undefined
}

/** One turn of a conversation, in a provider's terms. */
export interface DialogueJob {
  /** The provider's own name for the model. */
  model: string
  messages: DialogueMessage[]
  /** Undefined where the reply is to be text only. */
  audio: { voice: string; format: string } | undefined
  temperature: number | undefined
  topP: number | undefined
  maxTokens: number
  n: number
  stop: string[] | undefined
  seed: number | undefined
}

export interface DialogueUsage {
  inputTextTokens: number
  inputAudioTokens: number
  outputTextTokens: number
  outputAudioTokens: number
}

export interface SpokenReply {
  id: string
  /** Base64. */
  data: string
  transcript: string
  /** Unix seconds. */
  expiresAt: number
}

export interface DialogueChoice {
  text: string
  audio: SpokenReply | undefined
  finishReason: 'stop' | 'length' | 'content_filter'
}

export interface DialogueReply {
  choices: DialogueChoice[]
  /** Undefined where the provider did not count. */
  usage: DialogueUsage | undefined
  engine: Engine | undefined
}

export type DialogueChunk =
  | { kind: 'text'; index: number; text: string }
  | { kind: 'end'; index: number; finishReason: DialogueChoice['finishReason'] }
  | { kind: 'usage'; usage: DialogueUsage }

export interface DialogueStream {
  engine: Engine | undefined
  chunks: AsyncGenerator<DialogueChunk, void, undefined>
}

/** A provider that talks, with text or with sound. Throws only `ProviderFailure`. */
export interface DialogueProvider {
  reply: (job: DialogueJob, signal: AbortSignal) => Promise<DialogueReply>
  /** The reply as it is made; text only. */
  streamReply: (job: DialogueJob, signal: AbortSignal) => Promise<DialogueStream>
}

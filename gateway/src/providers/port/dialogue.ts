import type { Readable } from 'node:stream'

import type { Engine } from './engine.ts'

/** A part of a message. Audio stays in its spool file as base64 until it is sent. */
export type DialoguePart =
  | { kind: 'text'; text: string }
  | {
      kind: 'audio'
      format: 'wav' | 'mp3'
      /** The size of the base64 text. */
      sizeBytes: number
      openBase64: () => Promise<Readable>
    }

export interface DialogueMessage {
  role: 'system' | 'developer' | 'user' | 'assistant'
  content: string | DialoguePart[]
  /** Refers to an earlier spoken reply. */
  audioId: string | undefined
}

/** One turn of a conversation, in a provider's terms. */
export interface DialogueJob {
  /** The provider's own name for the model. */
  model: string
  messages: DialogueMessage[]
  /** Undefined for a text-only reply. */
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
  /** Undefined if the provider did not report it. */
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

/** A chat provider with text and audio. Throws only `ProviderFailure`. */
export interface DialogueProvider {
  reply: (job: DialogueJob, signal: AbortSignal) => Promise<DialogueReply>
  /** Streams a text-only reply. */
  streamReply: (job: DialogueJob, signal: AbortSignal) => Promise<DialogueStream>
}

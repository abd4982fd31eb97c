import type { ReplySettings } from './chat-order.ts'

/** A message of the prompt. */
export interface PromptMessage {
  role: 'system' | 'user' | 'assistant'
  text: string
  /** The text without transcribed audio. */
  written: string
  audioSeconds: number
}

/** A task for the process of the dialogue model. */
export interface DialogueTask {
  /** Folders of the model sets. */
  weights: string
  runtime: string
  messages: PromptMessage[]
  settings: ReplySettings
}

/** The output of the process: first the size of the prompt, then one choice after the other. */
export type DialogueChunk =
  | { kind: 'read'; textTokens: number; audioSeconds: number }
  /** `tokens` counts the tokens of this choice so far. */
  | { kind: 'text'; choice: number; text: string; tokens: number }
  | { kind: 'end'; choice: number; reason: FinishReason; tokens: number }

export type FinishReason = 'stop' | 'length'

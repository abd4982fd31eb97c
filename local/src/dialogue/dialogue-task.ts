import type { ReplySettings } from './chat-order.ts'

/** A message as the model reads it. */
export interface Turn {
  role: 'system' | 'user' | 'assistant'
  text: string
  /** The text without what was only heard. */
  written: string
  heardSeconds: number
}

/** What the dialogue model's process is asked to do. */
export interface DialogueTask {
  /** Folders of the pulled sets. */
  weights: string
  runtime: string
  turns: Turn[]
  settings: ReplySettings
}

/** What it answers, piece by piece: once what it read, then one choice after the other. */
export type DialogueChunk =
  | { kind: 'read'; textTokens: number; heardSeconds: number }
  /** With the tokens that were made of its choice up to here. */
  | { kind: 'text'; choice: number; text: string; tokens: number }
  | { kind: 'end'; choice: number; reason: FinishReason; tokens: number }

export type FinishReason = 'stop' | 'length'

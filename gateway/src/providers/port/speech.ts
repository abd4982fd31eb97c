import type { Readable } from 'node:stream'

import type { Engine } from './engine.ts'

/** One text to say, in a provider's terms. */
export interface SpeechJob {
  /** The provider's own name for the model. */
  model: string
  input: string
  voice: string
  format: 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm'
  speed: number
  instructions: string | undefined
}

export interface Speech {
  /** The bytes as they are made. An error on it means that the provider broke off. */
  bytes: Readable
  engine: Engine | undefined
}

/** A provider that speaks. Answers once it has begun; throws only `ProviderFailure`. */
export interface SpeechProvider {
  /** True where it follows the instructions; they are not sent otherwise. */
  readonly followsInstructions: boolean
  speak: (job: SpeechJob, signal: AbortSignal) => Promise<Speech>
}

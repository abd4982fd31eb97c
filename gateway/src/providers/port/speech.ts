import type { Readable } from 'node:stream'

import type { Engine } from './engine.ts'

/** A speech request to a provider. */
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
  /** The audio stream. An error means that the provider failed midway. */
  bytes: Readable
  engine: Engine | undefined
}

/** A speech provider. `speak` resolves when the audio starts, and throws only `ProviderFailure`. */
export interface SpeechProvider {
  /** If false, instructions are not sent. */
  readonly followsInstructions: boolean
  speak: (job: SpeechJob, signal: AbortSignal) => Promise<Speech>
}

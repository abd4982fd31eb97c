import type { DialogueProvider } from './dialogue.ts'
import type { SpeechProvider } from './speech.ts'
import type { TranscriptionProvider } from './transcription.ts'
import type { VideoProvider } from './video.ts'

/** What stands behind a model at the moment. */
export interface EngineState {
  engine: string
  /** The best engine there is for it. */
  wanted: string
  /** One sentence for people. */
  quality: string
  /** The command that brings the wanted one, where it is missing. */
  pull: string | undefined
}

/** One configured provider: what it can do, and how much of it we may use. */
export interface Provider {
  name: string
  video: VideoProvider
  transcription: TranscriptionProvider
  speech: SpeechProvider
  dialogue: DialogueProvider
  /** Which engine answers each of its models now, and how good it is; absent where nobody can say. */
  engines?: (signal: AbortSignal) => Promise<Record<string, EngineState>>
  /** Jobs that may be in flight at once. */
  slots: number
  /** Over how many watches its jobs are spread. */
  shards: number
  checkEveryMs: { least: number; most: number }
}

export interface Providers {
  all: () => Provider[]
  get: (name: string) => Provider
  /** The provider that serves a model, and the provider's own name for it. */
  forModel: (model: string) => { provider: Provider; upstreamModel: string }
}

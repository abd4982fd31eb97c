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

/** What a provider can do; what is absent it cannot. */
export interface Capabilities {
  video?: VideoProvider
  transcription?: TranscriptionProvider
  speech?: SpeechProvider
  dialogue?: DialogueProvider
  /** Which engine answers each of its models now, and how good it is; absent where nobody can say. */
  engines?: (signal: AbortSignal) => Promise<Record<string, EngineState>>
}

export type Capability = Exclude<keyof Capabilities, 'engines'>

/** One configured provider: what it can do, and how much of it we may use. */
export interface Provider extends Capabilities {
  name: string
  /** False where it only finishes what it has. */
  acceptsJobs: boolean
  /** Jobs that may be in flight at once. */
  slots: number
  /** Over how many watches its jobs are spread. */
  shards: number
  pollIntervalMs: { least: number; most: number }
  timeoutsMs: { submit: number; poll: number; download: number }
  /** True where it is told an address to bring its news to; its jobs are then seldom checked unasked. */
  sendsWebhooks: boolean
}

export interface Providers {
  /** Those that are configured now. */
  all: () => Provider[]
  /** Those and the ones that this process has known before: they may have jobs to finish. */
  known: () => Provider[]
  /** Also one that was taken out of the configuration, for as long as this process has known it. */
  find: (name: string) => Provider | undefined
  /** The same, for who cannot go on without it. */
  get: (name: string) => Provider
}

/** What a provider that a task is with makes videos by. */
export const videoOf = ({ name, video }: Provider): VideoProvider => {
  if (video === undefined) throw new Error(`${name} makes no videos`)
  return video
}

import type { Access, AccessTest } from './access.ts'
import type { DialogueProvider } from './dialogue.ts'
import type { SpeechProvider } from './speech.ts'
import type { TranscriptionProvider } from './transcription.ts'
import type { VideoProvider } from './video.ts'

/** The current engine of a model. */
export interface EngineState {
  engine: string
  /** The preferred engine. */
  wanted: string
  /** A description of the quality. */
  quality: string
  /** The command that installs the preferred engine, if it is missing. */
  pull: string | undefined
}

/** The capabilities of a provider; absent ones are not supported. */
interface Capabilities {
  video?: VideoProvider
  transcription?: TranscriptionProvider
  speech?: SpeechProvider
  dialogue?: DialogueProvider
  /** The current engine of each of its models; only the built-in provider has it. */
  engines?: (signal: AbortSignal) => Promise<Record<string, EngineState>>
}

/** A protocol at one address with one key. */
export interface Connected extends Capabilities {
  access: Access
}

export type Capability = Exclude<keyof Capabilities, 'engines'>

/** A configured provider with its capabilities and limits. */
export interface Provider extends Capabilities {
  name: string
  /** False for a disabled provider, which only finishes its jobs. */
  acceptsJobs: boolean
  /** Jobs that may be in flight at once. */
  slots: number
  /** Synchronous calls that each API process may have in flight. */
  concurrency: number
  /** The number of loops that poll its jobs. */
  shards: number
  pollIntervalMs: { least: number; most: number }
  timeoutsMs: { submit: number; poll: number; download: number }
  /** Whether it sends webhooks; then its jobs are polled rarely. */
  sendsWebhooks: boolean
  /** Verifies address and key with the cheapest call of the protocol, for operators. */
  testAccess: () => Promise<AccessTest>
}

export interface Providers {
  /** The configured providers. */
  all: () => Provider[]
  /** Also removed providers that this process has known, because they may have open jobs. */
  known: () => Provider[]
  /** Also finds removed providers that this process has known. */
  find: (name: string) => Provider | undefined
  /** Like `find`, but throws if the provider is unknown. */
  get: (name: string) => Provider
}

/** Returns the video adapter of a task's provider. */
export const videoOf = ({ name, video }: Provider): VideoProvider => {
  if (video === undefined) throw new Error(`provider ${name} does not support video`)
  return video
}

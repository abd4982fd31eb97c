/** What operators set up: who serves which model, and how. It comes from a file and from the record. */
import type { Secret } from '../platform/secret.ts'

/** An account with a vendor. Another account there is another provider. */
export interface ProviderSettings {
  name: string
  /** A protocol of `providers/registry.ts`. */
  kind: string
  baseUrl: string
  apiKey: Secret | undefined
  /** False where it takes nothing new and only finishes what it has. */
  isEnabled: boolean
  /** Jobs it may have in flight. */
  slots: number
  shards: number
  pollIntervalMs: { least: number; most: number }
  timeoutsMs: { submit: number; poll: number; download: number }
  connections: number
  resultOrigins: string[]
  /** What its protocol alone knows of, checked against the protocol's schema, every default filled in. */
  own: Record<string, unknown>
}

/** One way to have a model's work done. */
export interface RouteSettings {
  provider: string
  /** The provider's own name for the model. */
  upstreamModel: string
  /** Routes of a lower order are preferred; among equals weights decide. */
  order: number
  weight: number
  /** Lengths of video it can make; undefined for any. */
  seconds: number[] | undefined
  /** As `<width>x<height>`; undefined for any. */
  sizes: string[] | undefined
  /** Tasks of this model it may have in flight; undefined for as many as the provider has slots. */
  slots: number | undefined
}

export interface ModelSettings {
  state: 'active' | 'deprecated' | 'retired' | undefined
  shutdownDate: string | undefined
  successor: string | undefined
  /** Undefined where the first provider that takes new work serves it, under the model's own name. */
  routes: RouteSettings[] | undefined
  pricePerSecondMicros: number | undefined
  pricePerMinuteMicros: number | undefined
  pricePerMillionCharactersMicros: number | undefined
}

export interface ProviderConfig {
  providers: ProviderSettings[]
  models: Record<string, ModelSettings>
}

/** The setup as it is now, and word of every change of it. */
export interface LiveConfig {
  current: () => ProviderConfig
  /** Calls the listener after every change; answers how to stop that. */
  onChange: (listener: () => void) => () => void
}

/** The configuration of providers and models, merged from the providers file and the database. */
import type { ModelConfig } from '../models/model.ts'
import type { PriceRule } from '../models/price-rule.ts'
import type { Secret } from '../platform/secret.ts'
import type { RawConfig } from './validate-config.ts'

/** One account at a vendor. A second account at the same vendor is another provider. */
export interface ProviderConfig {
  name: string
  /** A protocol of `providers/registry.ts`. */
  kind: string
  baseUrl: string
  apiKey: Secret | undefined
  /** A disabled provider accepts no new jobs and finishes the ones it has. */
  isEnabled: boolean
  /** Jobs it may have in flight. */
  slots: number
  shards: number
  pollIntervalMs: { least: number; most: number }
  timeoutsMs: { submit: number; poll: number; download: number }
  /** Synchronous calls that each API process may have in flight. */
  concurrency: number
  connections: number
  /** Whether calls carry the ids of their trace. */
  traceparent: boolean
  resultOrigins: string[]
  /** What it may cost per UTC day; undefined for any amount. */
  budget?: { micros: number; alertPercent: number; alertMicros: number; stops: boolean } | undefined
  /** The settings of its protocol, validated, with every default filled in. */
  protocolSettings: Record<string, unknown>
}

/** One provider that serves a model. */
export interface RouteConfig {
  provider: string
  /** The provider's own name for the model. */
  upstreamModel: string
  /** Routes of a lower order are preferred; weights decide within one order. */
  order: number
  weight: number
  /** Video lengths it can make; undefined for any. */
  seconds: number[] | undefined
  /** As `<width>x<height>`; undefined for any. */
  sizes: string[] | undefined
  /** Tasks of this model it may have in flight; undefined for the provider's slots. */
  slots: number | undefined
  /** What the provider charges; undefined if unknown. */
  costs: PriceRule[] | undefined
}

/** A model, and the providers that serve it. */
export type ConfiguredModel = ModelConfig & {
  /** If undefined, the first enabled provider serves the model under the model's own id. */
  routes: RouteConfig[] | undefined
}

export interface RoutingConfig {
  providers: ProviderConfig[]
  /** All models, those of the reference included. */
  models: Record<string, ConfiguredModel>
}

/** The configuration of the file, without the overrides of the database. */
export interface FileConfig extends RoutingConfig {
  /** The settings of all models as written, to which the database can make changes. */
  writtenModels: Record<string, RawConfig>
}

/** The current configuration, and a notification of every change. */
export interface LiveConfig {
  current: () => RoutingConfig
  /** Calls the listener after every change; returns a function that removes the listener. */
  onChange: (listener: () => void) => () => void
}

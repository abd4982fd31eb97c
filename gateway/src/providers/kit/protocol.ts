import type { Static, TObject } from 'typebox'

import type { Capabilities } from '../port/provider.ts'

/** What every adapter is told of the provider it stands for. */
export interface Connection {
  /** The operator's name for it. */
  name: string
  baseUrl: string
  apiKey: string | undefined
  /** How many connections to one origin may be open at a time. */
  connections: number
  /** Origins that results may be fetched from although their addresses are private. */
  resultOrigins: string[]
  ffmpegPath: string
}

/** One protocol: what may be configured about a provider that speaks it, and how it is spoken. */
export interface Protocol {
  /** Where it is to be found when the operator does not say; undefined where they must. */
  defaultBaseUrl?: string
  /** Settings of its own, beside those that every provider has. Each has a default and a description. */
  settings: TObject
  connect: (connection: Connection, settings: never) => Capabilities
}

/** Declares a protocol, with `connect` taking exactly what `settings` describes. */
export const protocol = <Settings extends TObject>(declared: {
  defaultBaseUrl?: string
  settings: Settings
  connect: (connection: Connection, settings: Static<Settings>) => Capabilities
}): Protocol => declared

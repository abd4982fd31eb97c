import type { Static, TObject } from 'typebox'

import type { Connected } from '../port/provider.ts'

/** The connection settings of a provider. */
export interface Connection {
  /** The provider's configured name. */
  name: string
  baseUrl: string
  apiKey: string | undefined
  /** Maximum of open connections per origin. */
  connections: number
  /** Whether calls carry the header `traceparent` of their trace. */
  traceparent?: boolean | undefined
  /** Origins with private addresses that results may be downloaded from. */
  resultOrigins: string[]
  ffmpegPath: string
}

/** What operators read about a protocol before they configure a provider. */
export interface ProtocolAbout {
  title: string
  description: string
  /** The kinds of models that it can serve. */
  capabilities: ('video' | 'speech' | 'transcription' | 'chat')[]
  /** Whether its services require an API key. */
  needsKey: boolean
  /** A valid value of each setting that has no useful default. */
  examples?: Record<string, unknown>
}

/** A vendor protocol: its settings, its adapters, and the call that verifies address and key. */
export interface Protocol {
  about: ProtocolAbout
  /** The base URL if none is configured; undefined if it must be configured. */
  defaultBaseUrl?: string
  /** How many synchronous calls it serves at once, if that is known. */
  concurrency?: number
  /** Settings beside the common ones. Each has a description, and a default unless it is required. */
  settings: TObject
  connect: (connection: Connection, settings: never) => Connected
}

/** Declares a protocol; the settings of `connect` have the type of the schema. */
export const protocol = <Settings extends TObject>(declared: {
  about: ProtocolAbout
  defaultBaseUrl?: string
  concurrency?: number
  settings: Settings
  connect: (connection: Connection, settings: Static<Settings>) => Connected
}): Protocol => declared

import type { Client } from './client.ts'

/** The attacker's knowledge of the API under attack. */
export interface Target {
  port: number
  /** The loopback address that all of the attacker's connections come from. */
  address: string
  /** Two accounts' keys with default limits, one of them without money. */
  keys: { poor: string; funded: string }
  /** Keys of several other accounts with money and high limits. */
  floods: string[]
  /** Two keys of each of four accounts with little money and default limits, and the address of each account. */
  uploaders: { key: string; address: string }[]
  /** Path and query of a signed link to a stored file. */
  mediaPath: string
  /** A completed video of the funded account. */
  taskId: string
  /** Recordings that are expensive to measure, each at most 25 MB. */
  recordings: string[]
  /** Almost four hours of Opus in an MP4 file of a few megabytes. */
  longRecording: string
}

/** Runs the attack until the signal aborts. All connections are opened through the client, which closes them then. */
type RunAttack = (client: Client, signal: AbortSignal) => Promise<void>

/** Prepares the attack, so that building its payloads does not count towards its time. */
export type Attack = (target: Target) => Promise<RunAttack>

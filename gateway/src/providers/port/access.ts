/** What a successful call shows about the key. */
export type KeyFinding =
  | { kind: 'accepted' }
  /** The call succeeded and says nothing about the key; `why` is a sentence for operators. */
  | { kind: 'not-verified'; why: string }

/** The cheapest call of a protocol that shows whether address and key are right. It creates no work and costs nothing. */
export interface Access {
  /** The host that is called. */
  host: string
  /** Throws only `ProviderFailure`. */
  check: (signal: AbortSignal) => Promise<KeyFinding>
}

/** The outcome of a call to a provider that an operator asked for. */
export interface AccessTest {
  isOk: boolean
  isKeyVerified: boolean
  /** The HTTP status; undefined if there was no response. */
  status: number | undefined
  durationMs: number
  /** What failed; undefined if nothing did. `configuration` is a failure before any call. */
  failedAt: 'configuration' | 'address' | 'key' | undefined
  /** The result in a sentence; after a failure, also how to fix it. It contains no secrets. */
  message: string
}

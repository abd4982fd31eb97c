/** How much of one customer may be under way at once, and how much may wait. */
export interface QueueLimits {
  /** Tasks in flight, over all providers; null for as many as there are slots. An account's own number goes first. */
  concurrencyPerAccount: number | null
  /** The same for each key, within what its account may have. A key's own number goes first. */
  concurrencyPerKey: number | null
  /** Tasks of an account that may wait for a slot. */
  depthPerAccount: number
}

/** Sharing is fair without any cap, so there is none until an operator sets one. */
export const queueDefaults: QueueLimits = {
  concurrencyPerAccount: null,
  concurrencyPerKey: null,
  depthPerAccount: 20_000,
}

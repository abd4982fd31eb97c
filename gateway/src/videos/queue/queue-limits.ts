/** How many tasks of one account may be in flight, and how many may wait. */
export interface QueueLimits {
  /** Tasks in flight over all providers; null for no limit but the slots. An account's own limit takes precedence. */
  concurrencyPerAccount: number | null
  /** The same for each key, within the limit of its account. A key's own limit takes precedence. */
  concurrencyPerKey: number | null
  /** Tasks of an account that may wait for a slot. */
  lengthPerAccount: number
}

/** The queue is fair without concurrency limits, so there are none by default. */
export const queueDefaults: QueueLimits = {
  concurrencyPerAccount: null,
  concurrencyPerKey: null,
  lengthPerAccount: 20_000,
}

/** Measures how long no request was successful although some were waiting. Retries hide this from the customers. */
export interface Outages {
  begin: () => void
  /** Ends a request that began. */
  end: (isSuccessful: boolean) => void
  /** The longest of those that ended after this time, or have not ended. */
  longestMs: (sinceMs: number) => number
}

/** Shorter ones are not recorded. */
const lengthMsMin = 100

export const createOutages = (): Outages => {
  const gaps: { endedAtMs: number; lengthMs: number }[] = []
  let waiting = 0
  let startedAtMs = 0
  return {
    begin: () => {
      if (waiting === 0) startedAtMs = Date.now()
      waiting += 1
    },
    end: (isSuccessful) => {
      waiting -= 1
      if (!isSuccessful) return
      const endedAtMs = Date.now()
      const lengthMs = endedAtMs - startedAtMs
      if (lengthMs >= lengthMsMin) gaps.push({ endedAtMs, lengthMs })
      startedAtMs = endedAtMs
    },
    longestMs: (sinceMs) =>
      Math.max(
        waiting > 0 ? Date.now() - startedAtMs : 0,
        ...gaps.filter(({ endedAtMs }) => endedAtMs >= sinceMs).map(({ lengthMs }) => lengthMs),
      ),
  }
}

/**
 * Limits how many bytes of results this worker downloads per second, in total and per provider. Downloads wait before they read
 * more, so their senders wait too. Providers whose downloads wait take turns, whatever the number of their downloads. Of the
 * downloads of a provider, the oldest goes first: if they shared its rate, all of them might reach their timeout together.
 */
interface PaceLimits {
  /** Per second; 0 for no limit. */
  total: number
  perProvider: number
}

/** Resolves when a download may read on after so many bytes. Rejects with the reason of the signal. */
export type DownloadPace = (
  download: { provider: string; startedMs: number },
  bytes: number,
  signal: AbortSignal,
) => Promise<void>

interface Waiting {
  startedMs: number
  bytes: number
  resume: () => void
}

interface Lane {
  /** The oldest download is the first. */
  waiting: Waiting[]
  freeAtMs: number
}

/** What may be received at once after a pause, as a time at the full rate. */
const burstMs = 100

export const createDownloadPace = ({ total, perProvider }: PaceLimits): DownloadPace => {
  const lanes = new Map<string, Lane>()
  let totalFreeAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined
  const msFor = (bytes: number, rate: number) => (rate === 0 ? 0 : (bytes * 1000) / rate)
  /** The time at which so many more bytes are used up. */
  const spend = (freeAtMs: number, nowMs: number, ms: number) => Math.max(freeAtMs, nowMs - burstMs) + ms

  const resumeNext = (lane: Lane, provider: string, nowMs: number) => {
    const next = lane.waiting.shift()
    if (next === undefined) return
    totalFreeAtMs = spend(totalFreeAtMs, nowMs, msFor(next.bytes, total))
    lane.freeAtMs = spend(lane.freeAtMs, nowMs, msFor(next.bytes, perProvider))
    // It goes to the end of the order.
    lanes.delete(provider)
    lanes.set(provider, lane)
    next.resume()
  }
  const resumeAll = () => {
    clearTimeout(timer)
    timer = undefined
    for (;;) {
      const nowMs = performance.now()
      const waiting = [...lanes].filter(([, lane]) => lane.waiting.length > 0)
      if (waiting.length === 0) return
      const [provider, lane] = waiting.find(([, { freeAtMs }]) => freeAtMs <= nowMs) ?? []
      if (provider === undefined || lane === undefined || totalFreeAtMs > nowMs) {
        const laneFreeAtMs = Math.min(...waiting.map(([, { freeAtMs }]) => freeAtMs))
        timer = setTimeout(resumeAll, Math.max(1, Math.max(totalFreeAtMs, laneFreeAtMs) - nowMs))
        return
      }
      resumeNext(lane, provider, nowMs)
    }
  }

  return async ({ provider, startedMs }, bytes, signal) => {
    if (total === 0 && perProvider === 0) return
    signal.throwIfAborted()
    const lane = lanes.get(provider) ?? { waiting: [], freeAtMs: -Infinity }
    lanes.set(provider, lane)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { startedMs, bytes, resume: resolve }
    const giveUp = () => {
      lane.waiting = lane.waiting.filter((each) => each !== waiting)
      reject(signal.reason as Error)
    }
    const younger = lane.waiting.findIndex((each) => each.startedMs > startedMs)
    lane.waiting.splice(younger === -1 ? lane.waiting.length : younger, 0, waiting)
    signal.addEventListener('abort', giveUp)
    resumeAll()
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
  }
}

/** Passes the chunks of a download on at this pace. */
export async function* atPace(
  source: AsyncIterable<Buffer>,
  pace: DownloadPace,
  provider: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const download = { provider, startedMs: performance.now() }
  for await (const chunk of source) {
    await pace(download, chunk.length, signal)
    yield chunk
  }
}

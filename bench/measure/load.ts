/** Sends requests over a fixed number of connections, one at a time on each. */
import { Pool, type Dispatcher } from 'undici'

import type { Figures } from './figures.ts'

export type RequestOf = (index: number) => Dispatcher.RequestOptions

export interface LoadOptions {
  connections?: number
  /** Ends the load after a time, or after a number of requests. */
  until: { ms: number } | { count: number }
  /** Receives the body of every response. */
  onBody?: (text: string) => void
}

export interface Load {
  count: number
  figures: Figures
}

const quantile = (sorted: number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const runLoad = async (
  origin: string,
  requestOf: RequestOf,
  { connections = 32, until, onBody }: LoadOptions,
): Promise<Load> => {
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const startedMs = performance.now()
  const hasMore = (sent: number) =>
    'ms' in until ? performance.now() < startedMs + until.ms : sent < until.count
  const durations: number[] = []
  let sent = 0
  const send = async () => {
    while (hasMore(sent)) {
      const index = sent
      sent += 1
      const sentMs = performance.now()
      const { statusCode, body } = await pool.request(requestOf(index))
      if (statusCode >= 400) throw new Error(`a request failed: ${statusCode} ${await body.text()}`)
      if (onBody === undefined) await body.dump({ limit: Number.MAX_SAFE_INTEGER })
      else onBody(await body.text())
      durations.push(performance.now() - sentMs)
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, send))
  } finally {
    await pool.destroy()
  }
  const seconds = (performance.now() - startedMs) / 1000
  durations.sort((a, b) => a - b)
  return {
    count: durations.length,
    figures: {
      'per second': durations.length / seconds,
      'p50 ms': quantile(durations, 0.5),
      'p99 ms': quantile(durations, 0.99),
    },
  }
}

/**
 * Measures the service for other clients during an attack with requests at a fixed rate. They do not wait for earlier
 * responses, because a waiting client would hide a standstill. Each has its own connection from one of many loopback
 * addresses, so that no limit per address applies.
 */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

interface ProbeRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: Buffer
  /** The status to measure; responses with another one are not counted. Without it, any but 200 is a failure. */
  expects?: number
}

/** Something else to time than a request. */
interface ProbeWork {
  work: () => Promise<unknown>
}

export type Probe = (ProbeRequest | ProbeWork) & {
  name: string
  perSecond: number
  /** A response below this time is fast enough, independent of the baseline. */
  enoughMs: number
}

interface Timing {
  /** One entry per request; a failed request counts as the time limit. */
  timesMs: number[]
  failed: number
  /** The start times of the requests without a response. */
  waitingSinceMs: Set<number>
}

export type Timings = Record<string, Timing>

/** The abort reason that ends the probes together with the API; requests under way then have not failed. */
export const stoppedEarly = 'stopped early'

export interface ProbeTarget {
  port: number
  /** Returns another source address each time. */
  nextAddress: () => string
}

const timeLimitMs = 10_000
const underWayMax = 100

/**
 * A percentile by rank, but never the maximum, which with few samples would be a single hiccup of a busy machine. The
 * same statistic is used before and during an attack.
 */
export const percentileOf = (timesMs: number[], share: number): number => {
  const sorted = timesMs.toSorted((a, b) => a - b)
  const rank = Math.min(Math.ceil(sorted.length * share), sorted.length - 1)
  return sorted[Math.max(0, rank - 1)] ?? 0
}

const timeOf = async (work: () => Promise<unknown>): Promise<number | undefined> => {
  const startedMs = performance.now()
  return work().then(
    () => performance.now() - startedMs,
    () => undefined,
  )
}

/** Runs a probe once; returns its duration, or undefined if it failed, or NaN if it does not count. */
export const probeOnce = (target: ProbeTarget, probe: Probe): Promise<number | undefined> =>
  'work' in probe ? timeOf(probe.work) : requestOnce(target, probe)

const requestOnce = (
  { port, nextAddress }: ProbeTarget,
  { method, path, headers, body, expects }: ProbeRequest,
): Promise<number | undefined> =>
  new Promise((resolve) => {
    const startedMs = performance.now()
    const failed = () => resolve(undefined)
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, method, path, agent: false, localAddress: nextAddress() },
        headers: { ...headers, ...(body !== undefined && { 'content-length': body.length }) },
        signal: AbortSignal.timeout(timeLimitMs),
      },
      (response) => {
        response.on('error', failed).on('close', failed)
        response.on('end', () => {
          const isExpected = response.statusCode === (expects ?? 200)
          const otherwise = expects === undefined ? undefined : Number.NaN
          resolve(isExpected ? performance.now() - startedMs : otherwise)
        })
        response.resume()
      },
    )
    sent.on('error', failed)
    sent.end(body)
  })

/** Runs all probes until the signal aborts, and waits for those under way. Fills `timings` as it goes. */
export const runProbes = async (
  target: ProbeTarget,
  probes: Probe[],
  signal: AbortSignal,
  timings: Timings = {},
): Promise<Timings> => {
  const runProbe = async (probe: Probe) => {
    const timing: Timing = { timesMs: [], failed: 0, waitingSinceMs: new Set() }
    timings[probe.name] = timing
    const underWay = new Set<Promise<void>>()
    const note = async () => {
      const sentMs = performance.now()
      timing.waitingSinceMs.add(sentMs)
      const tookMs = await probeOnce(target, probe)
      timing.waitingSinceMs.delete(sentMs)
      if (Number.isNaN(tookMs)) return
      if (tookMs !== undefined) timing.timesMs.push(tookMs)
      else if (signal.reason === stoppedEarly) timing.timesMs.push(performance.now() - sentMs)
      else {
        timing.timesMs.push(timeLimitMs)
        timing.failed += 1
      }
    }
    const startedMs = performance.now()
    for (let index = 1; !signal.aborted; index += 1) {
      if (underWay.size < underWayMax) {
        const noted: Promise<void> = note().finally(() => underWay.delete(noted))
        underWay.add(noted)
      }
      const dueMs = startedMs + (index * 1000) / probe.perSecond
      await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal }).catch(() => undefined)
    }
    await Promise.all(underWay)
  }
  await Promise.all(probes.map(runProbe))
  return timings
}

/**
 * Counts the points of a limit in Redis, for all processes together. A process takes several points at once and serves the
 * next requests from them, so a busy key does not cost a round trip per request. No more points than the limit are ever
 * granted. A process may hold back as many as the limit allows in a quarter of a second, and only a process that has none
 * left refuses a request.
 */
import type { Result } from 'ioredis'

import { batch, fulfilled, rejected } from '../platform/batch.ts'
import type { Redis } from '../platform/redis.ts'

/** One counter: a key under a limit of points per duration. */
export interface Counter {
  id: string
  points: number
  durationMs: number
}

export interface Taken {
  isAllowed: boolean
  /** Points that are left, as far as this process knows. */
  remaining: number
  resetsInMs: number
}

interface Lease {
  left: number
  /** What was left in Redis when the points were taken. */
  leftInRedis: number
  resetsAtMs: number
}

const leaseMs = 250
const leasesMax = 50_000

/** Grants at most the points that are left, and returns how many, how many are used now, and when they are reset. */
const takePoints = `
local used = tonumber(redis.call('get', KEYS[1]) or '0')
local granted = math.min(tonumber(ARGV[1]), math.max(0, tonumber(ARGV[2]) - used))
if used == 0 then
  redis.call('set', KEYS[1], granted, 'px', ARGV[3])
  return { granted, granted, tonumber(ARGV[3]) }
end
if granted > 0 then redis.call('incrby', KEYS[1], granted) end
return { granted, used + granted, redis.call('pttl', KEYS[1]) }`

declare module 'ioredis' {
  interface RedisCommander<Context> {
    takePoints(
      key: string,
      wanted: number,
      points: number,
      durationMs: number,
    ): Result<[granted: number, used: number, resetsInMs: number], Context>
  }
}

/** How many points a process takes at once. */
const leaseOf = ({ points, durationMs }: Counter) => Math.max(1, Math.floor((points * leaseMs) / durationMs))

/** Points of another take that was under way at the same time. Points of an earlier period are worth nothing. */
const unusedOf = (lease: Lease | undefined, periodBeganMs: number) =>
  lease !== undefined && lease.resetsAtMs > periodBeganMs ? lease.left : 0

/** Makes the function that takes one point of a counter. It rejects if Redis cannot be asked. */
export const createLeasedPoints = (redis: Redis): ((counter: Counter) => Promise<Taken>) => {
  redis.defineCommand('takePoints', { numberOfKeys: 1, lua: takePoints })
  const leases = new Map<string, Lease>()

  const takenFrom = (lease: Lease, nowMs: number): Taken => {
    const isAllowed = lease.left > 0
    if (isAllowed) lease.left -= 1
    return {
      isAllowed,
      remaining: lease.leftInRedis + lease.left,
      resetsInMs: Math.max(0, lease.resetsAtMs - nowMs),
    }
  }

  /** Takes from Redis for all requests of each counter at once. */
  const take = batch(
    async (wanted: Counter[]) => {
      const counters = [...Map.groupBy(wanted, ({ id }) => id).values()]
      const pipeline = redis.pipeline()
      for (const [counter, ...others] of counters) {
        if (counter === undefined) continue
        const { id, points, durationMs } = counter
        pipeline.takePoints(id, Math.max(leaseOf(counter), 1 + others.length), points, durationMs)
      }
      const replies = (await pipeline.exec()) ?? []
      const nowMs = performance.now()
      const failures = new Map<string, Error>()
      if (leases.size + counters.length > leasesMax) leases.clear()
      for (const [index, [counter]] of counters.entries()) {
        const [error, reply] = replies[index] ?? [new Error('Redis did not reply')]
        if (counter === undefined) continue
        if (error !== null) {
          failures.set(counter.id, error)
          continue
        }
        const [granted, used, resetsInMs] = reply as [number, number, number]
        const resetsAtMs = nowMs + resetsInMs
        const unused = unusedOf(leases.get(counter.id), resetsAtMs - counter.durationMs / 2)
        leases.set(counter.id, { left: granted + unused, leftInRedis: counter.points - used, resetsAtMs })
      }
      return wanted.map(({ id }) => {
        const lease = leases.get(id)
        const failure = failures.get(id)
        return failure === undefined && lease !== undefined
          ? fulfilled(takenFrom(lease, nowMs))
          : rejected(failure)
      })
    },
    { name: 'rate_limit', inFlightMax: 4, sizeMax: 500 },
  )

  return async (counter) => {
    const nowMs = performance.now()
    const lease = leases.get(counter.id)
    const isCurrent = lease !== undefined && lease.resetsAtMs > nowMs
    // Once the limit is reached, a flood does not get through to Redis until the points are reset.
    if (isCurrent && (lease.left > 0 || lease.leftInRedis === 0)) return takenFrom(lease, nowMs)
    return take(counter)
  }
}

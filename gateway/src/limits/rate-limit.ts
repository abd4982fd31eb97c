/**
 * How often a key may call. Each group of operations counts in a bucket of its own, so polling never starves
 * creates. Counted in Redis where there is one, else in this process; while Redis is away each process
 * counts for itself, which is too generous by the number of processes but never refuses wrongly.
 */
import { ApiError } from '@kinora/contract/errors'
import type { LimitGroup } from '@kinora/contract/operation'
import {
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible'

import type { Caller } from '../keys/caller.ts'
import type { Redis } from '../platform/redis.ts'

export interface LimitSettings {
  /** Asked for anew each time, because an operator may change it while we run. */
  perMinute: () => Record<LimitGroup, number>
  /** Requests per address and three minutes; 0 for no limit. */
  perAddress: number
}

/** Whose requests are counted. */
type Limited = Pick<Caller, 'keyId' | 'requestsPerMinute' | 'limits'>
type Bucket = { limiter: RateLimiterAbstract; limit: number; key: string }
type Counted = { limit: number; remaining: number; resetsInMs: number }

export interface RateLimit {
  /** Counts a request of a known caller and answers the headers that tell what is left. */
  (group: LimitGroup, caller: Limited, address: string): Promise<Record<string, string>>
  /** Counts a request whose key was refused, so that keys cannot be tried without end from one address. */
  stranger: (address: string) => Promise<void>
}

const minute = 60

export const createRateLimit = (
  settings: LimitSettings,
  redis: Redis | undefined,
  keyPrefix = 'kinora',
): RateLimit => {
  const limiters = new Map<string, RateLimiterAbstract>()

  // One limiter per size of bucket: the size belongs to the limiter, the counter to the key.
  const limiterOf = (name: string, points: number, duration: number): RateLimiterAbstract => {
    const id = `${name}:${points}`
    let limiter = limiters.get(id)
    if (limiter === undefined) {
      const memory = new RateLimiterMemory({ keyPrefix: `${keyPrefix}:${id}`, points, duration })
      limiter =
        redis === undefined
          ? memory
          : new RateLimiterRedis({
              storeClient: redis,
              keyPrefix: `${keyPrefix}:${id}`,
              points,
              duration,
              insuranceLimiter: memory,
            })
      limiters.set(id, limiter)
    }
    return limiter
  }

  const bucket = (name: string, limit: number, key: string, duration = minute): Bucket => ({
    limiter: limiterOf(name, limit, duration),
    limit,
    key,
  })
  const addressBuckets = (address: string): Bucket[] =>
    settings.perAddress > 0 ? [bucket('address', settings.perAddress, address, 3 * minute)] : []

  const bucketsOf = (group: LimitGroup, caller: Limited, address: string): Bucket[] => {
    const ofGroup = caller.limits[group] ?? settings.perMinute()[group]
    return [
      ...addressBuckets(address),
      ...(caller.requestsPerMinute === undefined
        ? []
        : [bucket('key', caller.requestsPerMinute, caller.keyId)]),
      bucket(group, ofGroup, caller.keyId),
    ]
  }

  const count = async ({ limiter, limit, key }: Bucket): Promise<Counted & { isRefused: boolean }> => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(key)
      return { limit, remaining: remainingPoints, resetsInMs: msBeforeNext, isRefused: false }
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      return { limit, remaining: 0, resetsInMs: refusal.msBeforeNext, isRefused: true }
    }
  }

  const headersOf = ({ limit, remaining, resetsInMs }: Counted): Record<string, string> => ({
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil((Date.now() + resetsInMs) / 1000)),
  })

  /** Counts in each bucket in turn; the first that is full refuses, else the tightest is answered. */
  const countAll = async (buckets: Bucket[]): Promise<Record<string, string>> => {
    let tightest: Counted | undefined
    for (const each of buckets) {
      const counted = await count(each)
      if (counted.isRefused) {
        const waitMs = Math.max(1, Math.ceil(counted.resetsInMs))
        const waitSeconds = Math.ceil(waitMs / 1000)
        throw new ApiError('rate_limit_exceeded', {
          message: `Too many requests: the limit is ${counted.limit}, try again in ${waitSeconds} s.`,
          headers: {
            ...headersOf(counted),
            'retry-after': String(waitSeconds),
            'retry-after-ms': String(waitMs),
          },
        })
      }
      if (tightest === undefined || counted.remaining < tightest.remaining) tightest = counted
    }
    return tightest === undefined ? {} : headersOf(tightest)
  }

  return Object.assign(
    (group: LimitGroup, caller: Limited, address: string) => countAll(bucketsOf(group, caller, address)),
    {
      stranger: async (address: string) => {
        await countAll(addressBuckets(address))
      },
    },
  )
}

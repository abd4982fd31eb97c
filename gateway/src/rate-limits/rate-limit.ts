/**
 * How often an address and a key may call. Every request counts against its address first, and one of a known key
 * against the key as well. Each group of operations counts in a bucket of its own, so polling never starves
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

import { addressPrefixOf } from '../admission/address-prefix.ts'
import type { Caller } from '../auth/caller.ts'
import type { Redis } from '../platform/redis.ts'

export interface LimitSettings {
  /** Asked for anew each time, because an operator may change it while we run. */
  perMinute: () => Record<LimitGroup, number>
  /** Requests per address, or IPv6 /64, and three minutes; 0 for no limit. */
  perAddress: number
  /** Requests per key and minute whose client may disconnect while a provider works on them; 0 for no limit. */
  abortedPerMinute: number
}

/** Whose requests are counted. */
type Limited = Pick<Caller, 'keyId' | 'requestsPerMinute' | 'limits'>
/** `what` and `whose` are for the message: 60 creates per minute for this key. */
type Bucket = {
  limiter: RateLimiterAbstract
  limit: number
  key: string
  what: string
  period: string
  whose: string
}

/** How much is left of a limit. */
export interface LimitStanding {
  limit: number
  remaining: number
  resetsInMs: number
}

/**
 * Operators' requests are counted apart from all others of their address. Customers behind the same address cannot use
 * up what operators need to work on the problem.
 */
type AddressScope = 'customers' | 'operators'

export interface RateLimit {
  /**
   * Counts a request of a known caller and answers the headers that tell what is left, by the tightest limit; that of
   * its address was counted before.
   */
  (group: LimitGroup, caller: Limited, ofAddress: LimitStanding | undefined): Promise<Record<string, string>>
  /** Counts a request by its address alone; undefined where addresses are not limited. */
  address: (address: string, scope?: AddressScope) => Promise<LimitStanding | undefined>
  /** Counts a request whose client has disconnected while a provider worked on it. */
  countAborted: (caller: Pick<Limited, 'keyId'>) => Promise<void>
  /** Refuses a key that has had too many of them lately. */
  assertFewAborted: (caller: Pick<Limited, 'keyId'>) => Promise<void>
}

const minute = 60

const requestsOf: Record<LimitGroup, string> = {
  create: 'create',
  read: 'read',
  audio: 'audio request',
  chat: 'chat request',
}

const adviceOnAborted =
  ' An aborted request is one whose client disconnected before its reply was complete: wait for replies, or send an Idempotency-Key.'

export const rateLimitHeaders = ({
  limit,
  remaining,
  resetsInMs,
}: LimitStanding): Record<string, string> => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(Math.ceil((Date.now() + resetsInMs) / 1000)),
})

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
              // A limit that is used up is remembered here until it resets, so that a flood does not reach Redis.
              inMemoryBlockOnConsumed: points,
            })
      limiters.set(id, limiter)
    }
    return limiter
  }

  const ofKey = (name: string, limit: number, { keyId }: Limited, what: string): Bucket => ({
    limiter: limiterOf(name, limit, minute),
    limit,
    key: keyId,
    what,
    period: 'minute',
    whose: 'key',
  })

  const refusalOf = (
    { limit, what, period, whose }: Pick<Bucket, 'limit' | 'what' | 'period' | 'whose'>,
    msBeforeNext: number,
    advice = '',
  ): ApiError => {
    const waitMs = Math.max(1, Math.ceil(msBeforeNext))
    const waitSeconds = Math.ceil(waitMs / 1000)
    return new ApiError('rate_limit_exceeded', {
      message: `Rate limit reached: ${limit} ${what}${limit === 1 ? '' : 's'} per ${period} for this ${whose}. Try again in ${waitSeconds} s.${advice}`,
      headers: {
        ...rateLimitHeaders({ limit, remaining: 0, resetsInMs: waitMs }),
        'retry-after': String(waitSeconds),
        'retry-after-ms': String(waitMs),
      },
    })
  }

  const count = async (bucket: Bucket): Promise<LimitStanding> => {
    try {
      const { remainingPoints, msBeforeNext } = await bucket.limiter.consume(bucket.key)
      return { limit: bucket.limit, remaining: remainingPoints, resetsInMs: msBeforeNext }
    } catch (refusal) {
      throw refusal instanceof RateLimiterRes ? refusalOf(bucket, refusal.msBeforeNext) : refusal
    }
  }

  const aborted = {
    limit: settings.abortedPerMinute,
    what: 'aborted request',
    period: 'minute',
    whose: 'key',
    limiter: limiterOf('aborted', settings.abortedPerMinute, minute),
  }

  const ofCaller = async (
    group: LimitGroup,
    caller: Limited,
    ofAddress: LimitStanding | undefined,
  ): Promise<Record<string, string>> => {
    const { requestsPerMinute } = caller
    const buckets = [
      ...(requestsPerMinute === undefined ? [] : [ofKey('key', requestsPerMinute, caller, 'request')]),
      ofKey(group, caller.limits[group] ?? settings.perMinute()[group], caller, requestsOf[group]),
    ]
    let tightest = ofAddress
    // The first that is used up refuses; the others are not counted then.
    for (const each of buckets) {
      const standing = await count(each)
      if (tightest === undefined || standing.remaining < tightest.remaining) tightest = standing
    }
    return tightest === undefined ? {} : rateLimitHeaders(tightest)
  }

  return Object.assign(ofCaller, {
    countAborted: async ({ keyId }: Pick<Limited, 'keyId'>) => {
      if (aborted.limit === 0) return
      // One too many is refused where it is asked for, not here.
      await aborted.limiter.consume(keyId).catch((refusal: unknown) => {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
      })
    },
    assertFewAborted: async ({ keyId }: Pick<Limited, 'keyId'>) => {
      if (aborted.limit === 0) return
      const standing = await aborted.limiter.get(keyId)
      if (standing !== null && standing.consumedPoints >= aborted.limit) {
        throw refusalOf(aborted, standing.msBeforeNext, adviceOnAborted)
      }
    },
    address: async (address: string, scope: AddressScope = 'customers') => {
      const limit = settings.perAddress
      if (limit === 0) return undefined
      return count({
        limiter: limiterOf(scope === 'operators' ? 'operator-address' : 'address', limit, 3 * minute),
        limit,
        key: addressPrefixOf(address),
        what: 'request',
        period: '3 minutes',
        whose: 'address',
      })
    },
  })
}

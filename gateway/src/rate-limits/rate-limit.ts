/**
 * Rate limits per address and per key. Every request counts against its address first, and with a valid key against the
 * key as well. Each group of operations has its own bucket, so that polling never starves creates. The counters are in
 * Redis if it is configured (`leased-points.ts`), else in this process. While Redis is unreachable each process counts
 * alone, which allows more requests but never refuses one wrongly.
 */
import { ApiError } from '@kinora/contract/errors'
import type { LimitGroup } from '@kinora/contract/operation'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

import { addressPrefixOf } from '../admission/address-prefix.ts'
import type { Caller } from '../auth/caller.ts'
import { rejection } from '../platform/metrics/rejections.ts'
import type { Redis } from '../platform/redis.ts'
import { createLeasedPoints, type Taken } from './leased-points.ts'

export interface LimitSettings {
  /** Read at every request, because an operator may change it at run time. */
  perMinute: () => Record<LimitGroup, number>
  /** Requests per address, or IPv6 /64, and three minutes; 0 for no limit. */
  perAddress: number
  /** Requests per key and minute whose client may disconnect while a provider works on them; 0 for no limit. */
  abortedPerMinute: number
}

/** The caller whose requests are counted. */
interface Limited extends Pick<Caller, 'keyId' | 'requestsPerMinute' | 'limits'> {
  /** The request comes from the console, where a person looks at many pictures and lists at once. */
  isConsole?: boolean
}
/** `what`, `period` and `whose` are for the message: 60 creates per minute for this key. */
type Bucket = {
  name: string
  limit: number
  seconds: number
  key: string
  what: string
  period: string
  whose: string
}

/** How much is left of a limit. */
export interface LimitStanding extends Pick<Bucket, 'name' | 'limit' | 'seconds'> {
  remaining: number
  resetsInMs: number
}

/** Operators have a separate bucket per address, so that customers who share it cannot lock them out. */
type AddressScope = 'customers' | 'operators'

export interface RateLimit {
  /**
   * Counts a request of an authenticated caller and returns the headers about its limits. The address was counted
   * before.
   */
  (group: LimitGroup, caller: Limited, ofAddress: LimitStanding | undefined): Promise<Record<string, string>>
  /** Counts a request by its address; undefined if addresses are not limited. */
  address: (address: string, scope?: AddressScope) => Promise<LimitStanding | undefined>
  /**
   * Counts a health check by its address, in this process only: it must not depend on Redis, and one orchestrator checks
   * many processes.
   */
  healthCheck: (address: string) => Promise<void>
  /** Counts a request whose client has disconnected while a provider worked on it. */
  countAborted: (caller: Pick<Limited, 'keyId'>) => Promise<void>
  /** Refuses a key with too many aborted requests in the last minute. */
  assertFewAborted: (caller: Pick<Limited, 'keyId'>) => Promise<void>
  /** Counts a failed sign-in by its address, and refuses one of too many. */
  countFailedSignIn: (address: string) => Promise<void>
}

const minute = 60
/** Reads of the console are counted apart from those of the key's programs, which it must not slow down. */
const consoleReadFactor = 4
/** Per address and minute. Keys cannot be guessed: this tells programs with a wrong key to stop trying. */
const failedSignInsMax = 10
/** An address may send this many times as many health checks as other requests. */
const healthCheckFactor = 4

const requestsOf: Record<LimitGroup, string> = {
  create: 'create',
  read: 'read',
  audio: 'audio request',
  chat: 'chat request',
}

const adviceOnAborted =
  ' An aborted request is one whose client disconnected before its response was complete: wait for responses, or send an Idempotency-Key.'

/**
 * The headers of a request that counted against these limits. Clients know the `X-RateLimit` headers, which have the
 * tightest limit; `RateLimit` (draft-ietf-httpapi-ratelimit-headers) has all of them.
 */
export const rateLimitHeaders = (standings: LimitStanding[]): Record<string, string> => {
  const [first] = standings
  if (first === undefined) return {}
  const { limit, remaining, resetsInMs } = standings.reduce(
    (tightest, each) => (each.remaining < tightest.remaining ? each : tightest),
    first,
  )
  const listed = (format: (standing: LimitStanding) => string) => standings.map(format).join(', ')
  const secondsLeft = (ms: number) => Math.max(0, Math.ceil(ms / 1000))
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil((Date.now() + resetsInMs) / 1000)),
    'ratelimit-policy': listed((each) => `"${each.name}";q=${each.limit};w=${each.seconds}`),
    ratelimit: listed((each) => `"${each.name}";r=${each.remaining};t=${secondsLeft(each.resetsInMs)}`),
  }
}

export const createRateLimit = (
  settings: LimitSettings,
  redis: Redis | undefined,
  keyPrefix = 'kinora',
): RateLimit => {
  const limiters = new Map<string, RateLimiterMemory>()
  const takeLeased = redis === undefined ? undefined : createLeasedPoints(redis)

  // A limiter has a fixed size and a counter per key, so each size needs its own limiter.
  const memoryOf = (name: string, points: number, duration: number): RateLimiterMemory => {
    const id = `${name}:${points}`
    let limiter = limiters.get(id)
    if (limiter === undefined) {
      limiter = new RateLimiterMemory({ keyPrefix: `${keyPrefix}:${id}`, points, duration })
      limiters.set(id, limiter)
    }
    return limiter
  }

  const takeFromMemory = async ({ name, limit, seconds, key }: Bucket): Promise<Taken> => {
    const takenOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes, isAllowed: boolean): Taken => ({
      isAllowed,
      remaining: remainingPoints,
      resetsInMs: msBeforeNext,
    })
    try {
      return takenOf(await memoryOf(name, limit, seconds).consume(key), true)
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return takenOf(refusal, false)
      throw refusal
    }
  }

  const take = async (bucket: Bucket): Promise<Taken> => {
    if (takeLeased === undefined) return takeFromMemory(bucket)
    const { name, limit: points, seconds, key } = bucket
    const id = `${keyPrefix}:${name}:${points}:${key}`
    try {
      return await takeLeased({ id, points, durationMs: seconds * 1000 })
    } catch {
      // Redis cannot be reached, which its connection logs.
      return takeFromMemory(bucket)
    }
  }

  const ofKey = (name: string, limit: number, { keyId }: Limited, what: string): Bucket => ({
    name,
    limit,
    seconds: minute,
    key: keyId,
    what,
    period: 'minute',
    whose: 'key',
  })

  const ofAddress = (name: string, limit: number, address: string, what: string): Bucket => ({
    ...{ name, limit, seconds: 3 * minute, key: addressPrefixOf(address) },
    ...{ what, period: '3 minutes', whose: 'address' },
  })

  const refusalOf = (
    { name, limit, seconds, what, period, whose }: Omit<Bucket, 'key'>,
    msBeforeNext: number,
    advice = '',
  ): ApiError => {
    const waitMs = Math.max(1, Math.ceil(msBeforeNext))
    const waitSeconds = Math.ceil(waitMs / 1000)
    const error = new ApiError('rate_limit_exceeded', {
      message: `Rate limit reached: ${limit} ${what}${limit === 1 ? '' : 's'} per ${period} for this ${whose}. Try again in ${waitSeconds} s.${advice}`,
      headers: {
        ...rateLimitHeaders([{ name, limit, seconds, remaining: 0, resetsInMs: waitMs }]),
        'retry-after': String(waitSeconds),
        'retry-after-ms': String(waitMs),
      },
    })
    return rejection('rate_limit', error)
  }

  const count = async (bucket: Bucket, takeFrom = take): Promise<LimitStanding> => {
    const { isAllowed, remaining, resetsInMs } = await takeFrom(bucket)
    if (!isAllowed) throw refusalOf(bucket, resetsInMs)
    const { name, limit, seconds } = bucket
    return { name, limit, seconds, remaining, resetsInMs }
  }

  /** Counts what is refused later. */
  const limiterOf = (name: string, points: number) => {
    const memory = memoryOf(name, points, minute)
    return redis === undefined
      ? memory
      : new RateLimiterRedis({
          storeClient: redis,
          keyPrefix: `${keyPrefix}:${name}:${points}`,
          points,
          duration: minute,
          insuranceLimiter: memory,
        })
  }
  const aborted = {
    name: 'aborted',
    seconds: minute,
    limit: settings.abortedPerMinute,
    what: 'aborted request',
    period: 'minute',
    whose: 'key',
    limiter: limiterOf('aborted', settings.abortedPerMinute),
  }
  const signIns = {
    name: 'sign-in',
    seconds: minute,
    limit: failedSignInsMax,
    what: 'failed sign-in',
    period: 'minute',
    whose: 'address',
    limiter: limiterOf('sign-in', failedSignInsMax),
  }
  const ofCaller = async (
    group: LimitGroup,
    caller: Limited,
    ofAddress: LimitStanding | undefined,
  ): Promise<Record<string, string>> => {
    const { requestsPerMinute, isConsole } = caller
    const ofGroup = caller.limits[group] ?? settings.perMinute()[group]
    const buckets =
      isConsole === true && group === 'read'
        ? [ofKey('console', ofGroup * consoleReadFactor, caller, 'console read')]
        : [
            ...(requestsPerMinute === undefined ? [] : [ofKey('key', requestsPerMinute, caller, 'request')]),
            ofKey(group, ofGroup, caller, requestsOf[group]),
          ]
    const standings = ofAddress === undefined ? [] : [ofAddress]
    // The first exhausted bucket refuses the request, and the others are not counted.
    for (const each of buckets) standings.push(await count(each))
    return rateLimitHeaders(standings)
  }

  return Object.assign(ofCaller, {
    countAborted: async ({ keyId }: Pick<Limited, 'keyId'>) => {
      if (aborted.limit === 0) return
      // `assertFewAborted` refuses, not the counting.
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
    countFailedSignIn: async (address: string) => {
      try {
        await signIns.limiter.consume(addressPrefixOf(address))
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) throw refusalOf(signIns, refusal.msBeforeNext)
        throw refusal
      }
    },
    address: async (address: string, scope: AddressScope = 'customers') => {
      if (settings.perAddress === 0) return undefined
      const name = scope === 'operators' ? 'operator-address' : 'address'
      return count(ofAddress(name, settings.perAddress, address, 'request'))
    },
    healthCheck: async (address: string) => {
      if (settings.perAddress === 0) return
      const limit = settings.perAddress * healthCheckFactor
      await count(ofAddress('health-check', limit, address, 'health check'), takeFromMemory)
    },
  })
}

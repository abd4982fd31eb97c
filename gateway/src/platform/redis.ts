import { Redis, type RedisOptions } from 'ioredis'

import { parseSentinelUrl } from './hosts/redis-url.ts'
import type { Log } from './log.ts'

export type { Redis } from 'ioredis'

const connectTimeoutMs = 2_000
const keepAliveMs = 10_000

export const reportErrors = (redis: Redis, log: Log): void => {
  const { path, host, port, sentinels, name } = redis.options
  const address =
    sentinels === null || sentinels === undefined
      ? (path ?? `${host}:${port}`)
      : `${name} of ${sentinels.map((each) => `${each.host}:${each.port}`).join(', ')}`
  const service = `Redis at ${address} (REDIS_URL)`
  redis.on('error', (error: Error) => log.warn({ err: error, service }, 'redis.connection-lost'))
}

/**
 * A Redis that does not respond within `timeoutMs` counts as disconnected: its connection is closed, and opened again
 * once it responds. Meanwhile commands fail at once instead of queueing, and the rate limiter counts in memory.
 */
export const connectRedis = ({ url, timeoutMs }: { url: string; timeoutMs: number }, log: Log): Redis => {
  const sentinels = parseSentinelUrl(url)
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    lazyConnect: false,
    connectTimeout: connectTimeoutMs,
    keepAlive: keepAliveMs,
    // The first ends a connection without any response, the second a command that waits behind many others.
    ...(timeoutMs > 0 && { socketTimeout: timeoutMs, commandTimeout: timeoutMs }),
  } satisfies RedisOptions
  const redis =
    sentinels === undefined
      ? new Redis(url, options)
      : // The sentinels announce a failover, also while the replaced primary still responds.
        new Redis({
          ...options,
          ...sentinels,
          failoverDetector: true,
          // Without it, a sentinel that accepts connections but does not respond would be asked forever.
          sentinelCommandTimeout: connectTimeoutMs,
        })
  reportErrors(redis, log)
  return redis
}

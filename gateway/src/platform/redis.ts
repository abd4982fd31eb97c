import { Redis } from 'ioredis'

import type { Log } from './log.ts'

export type { Redis } from 'ioredis'

export const connectRedis = (url: string, log: Log): Redis => {
  // While Redis is unreachable commands fail at once instead of queueing; the rate limiter then counts in memory.
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: false })
  redis.on('error', (error: Error) => log.warn({ err: error }, 'redis.connection-lost'))
  return redis
}

import { Redis } from 'ioredis'

import type { Log } from './log.ts'

export type { Redis } from 'ioredis'

export const connectRedis = (url: string, log: Log): Redis => {
  // Commands fail at once while Redis is away instead of piling up: the limiter then counts in memory.
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: false })
  redis.on('error', (error: Error) => log.warn({ err: error }, 'redis.connection-lost'))
  return redis
}

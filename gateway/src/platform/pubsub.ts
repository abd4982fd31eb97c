/**
 * News that something changed, told to every process. It is always a hint: whoever hears it reads the record,
 * and whoever misses it reads the record a little later. Through Redis where there is one, else through
 * PostgreSQL; one message a batch either way.
 */
import type { Log } from './log.ts'
import type { Postgres } from './postgres.ts'
import type { Redis } from './redis.ts'

export interface Pubsub {
  /** Never awaited, never failing. */
  publish: (ids: string[]) => void
  subscribe: (onNotification: (ids: string[]) => void) => Promise<{ stop: () => Promise<void> }>
}

const channel = 'task_news'
// PostgreSQL takes payloads of less than 8000 bytes.
const idsPerMessage = 100

const chunksOf = (ids: string[]): string[] =>
  Array.from({ length: Math.ceil(ids.length / idsPerMessage) }, (_, index) =>
    ids.slice(index * idsPerMessage, (index + 1) * idsPerMessage).join(' '),
  )

const idsOf = (payload: string | undefined): string[] => payload?.split(' ').filter((id) => id !== '') ?? []

export const postgresPubsub = (postgres: Postgres, log: Log): Pubsub => ({
  publish: (ids) => {
    for (const payload of chunksOf(ids)) {
      postgres
        .notify(channel, payload)
        .catch((error: unknown) => log.debug({ err: error }, 'pubsub.publish-failed'))
    }
  },
  subscribe: (onNotification) => postgres.listen(channel, (payload) => onNotification(idsOf(payload))),
})

export const redisPubsub = (redis: Redis, log: Log, keyPrefix = 'kinora'): Pubsub => ({
  publish: (ids) => {
    for (const payload of chunksOf(ids)) {
      redis
        .publish(`${keyPrefix}:${channel}`, payload)
        .catch((error: unknown) => log.debug({ err: error }, 'pubsub.publish-failed'))
    }
  },
  subscribe: async (onNotification) => {
    // A connection that listens can do nothing else.
    const listener = redis.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: null })
    listener.on('error', (error: Error) => log.warn({ err: error }, 'redis.connection-lost'))
    listener.on('message', (_channel: string, payload: string) => onNotification(idsOf(payload)))
    // Redis being away must not keep a process from starting; it subscribes once it is back.
    listener
      .subscribe(`${keyPrefix}:${channel}`)
      .catch((error: unknown) => log.warn({ err: error }, 'pubsub.subscribe-failed'))
    return {
      stop: async () => {
        listener.disconnect()
      },
    }
  },
})

/**
 * Notifies every process of changed tasks. A notification is only a hint: a process that receives it reads the database,
 * and one that misses it reads the database a little later. It goes through Redis if configured, else through
 * PostgreSQL, in one message per batch.
 */
import type { Log } from './log.ts'
import type { Postgres } from './postgres.ts'
import { reportErrors, type Redis } from './redis.ts'

export interface Pubsub {
  /** Returns at once and never throws. */
  publish: (ids: string[]) => void
  subscribe: (onNotification: (ids: string[]) => void) => Promise<{ stop: () => Promise<void> }>
}

const channel = 'task_changes'
// PostgreSQL accepts payloads below 8000 bytes.
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
    // A subscribed connection accepts no other commands.
    const listener = redis.duplicate({
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      // The subscription waits until Redis is reachable.
      commandTimeout: undefined,
    })
    reportErrors(listener, log)
    listener.on('message', (_channel: string, payload: string) => onNotification(idsOf(payload)))
    // A process must also start without Redis; the subscription follows when Redis is reachable.
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

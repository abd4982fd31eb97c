import { randomUUID } from 'node:crypto'

import type { Run } from '../../src/platform/engine/run-key.ts'
import type { Database, Postgres } from '../../src/platform/postgres.ts'
import { queueDefaults, type QueueLimits } from '../../src/videos/queue/queue-limits.ts'
import { beginTick, claimAccepted, nextStartInMs, type Queue } from '../../src/videos/queue/queue-store.ts'

const manyStarts = 10_000

const wholeQueue = (queue: Partial<Queue>): Queue => ({
  ...{ provider: 'vendor', slots: manyStarts, slotsElsewhere: 0, capacityOf: new Map() },
  ...queue,
})

/** Runs the queries of a dispatcher tick without an engine, and returns the tasks that it claims. */
export const tickOf = async (
  database: Database,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => {
  const whole = wholeQueue(queue)
  const tickId = randomUUID()
  await beginTick(database, 'dispatchVideos', whole.provider, tickId)
  const claimed = await claimAccepted(database, whole, limit, { ...queueDefaults, ...limits }, tickId)
  await nextStartInMs(database, whole.provider)
  return claimed
}

/** The same for a tick that may be executed repeatedly; returns the runs that it claims or has claimed. */
export const repeatableTick = async (database: Database, slots: number, tickId: string): Promise<Run[]> => {
  const whole = wholeQueue({ slots })
  const before = await beginTick(database, 'dispatchVideos', whole.provider, tickId)
  if (before !== undefined) return before
  return (await claimAccepted(database, whole, manyStarts, queueDefaults, tickId)).starts
}

export const dispatchTick = (
  postgres: Postgres,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => postgres.transaction((database) => tickOf(database, queue, limits, limit))

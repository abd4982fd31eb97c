import type { Database, Postgres } from '../../src/platform/postgres.ts'
import { queueDefaults, type QueueLimits } from '../../src/videos/queue/queue-limits.ts'
import { lockQueue, nextStartInMs, claimAccepted, type Queue } from '../../src/videos/queue/queue-store.ts'
import { restartStalled } from '../../src/videos/queue/stalled-task-store.ts'

const manyStarts = 10_000

/** Runs the queries of a dispatcher tick without an engine, and returns the tasks that it claims. */
export const tickOf = async (
  database: Database,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => {
  const whole = { provider: 'vendor', slots: manyStarts, slotsElsewhere: 0, capacityOf: new Map(), ...queue }
  await lockQueue(database, whole.provider)
  await restartStalled(database, whole.provider, limit, 60_000)
  const claimed = await claimAccepted(database, whole, limit, { ...queueDefaults, ...limits })
  await nextStartInMs(database, whole.provider)
  return claimed
}

export const dispatchTick = (
  postgres: Postgres,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => postgres.transaction((database) => tickOf(database, queue, limits, limit))

import type { Database, Postgres } from '../../src/platform/postgres.ts'
import { queueDefaults, type QueueLimits } from '../../src/videos/queue/queue-limits.ts'
import { lockQueue, nextStartInMs, claimAccepted, type Queue } from '../../src/videos/queue/queue-store.ts'
import { requeueStalled } from '../../src/videos/queue/stalled-task-store.ts'

const manyStarts = 10_000

/** What a dispatcher's turn reads and writes, without an engine: answers the tasks it would start. */
export const tickOf = async (
  database: Database,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => {
  const whole = { provider: 'vendor', slots: manyStarts, slotsElsewhere: 0, capacityOf: new Map(), ...queue }
  await lockQueue(database, whole.provider)
  await requeueStalled(database, whole.provider, limit, 60_000)
  const taken = await claimAccepted(database, whole, limit, { ...queueDefaults, ...limits })
  await nextStartInMs(database, whole.provider)
  return taken
}

export const dispatchTick = (
  postgres: Postgres,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => postgres.transaction((database) => tickOf(database, queue, limits, limit))

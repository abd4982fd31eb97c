import { randomUUID } from 'node:crypto'

import type { Run } from '../../src/platform/engine/run-key.ts'
import { recordTick } from '../../src/platform/engine/tick-store.ts'
import type { Database, Postgres } from '../../src/platform/postgres.ts'
import { claimOnce } from '../../src/tasks/dispatch-tasks.ts'
import { nextStartInMs } from '../../src/tasks/queue-store.ts'
import type { Queue } from '../../src/videos/queue/choose-tasks.ts'
import { queueDefaults, type QueueLimits } from '../../src/videos/queue/queue-limits.ts'
import { claimAccepted, lockQueue } from '../../src/videos/queue/queue-store.ts'
import { videoTables as tables } from '../../src/videos/task.ts'

const manyStarts = 10_000

const wholeQueue = (queue: Partial<Queue>): Queue => ({
  ...{ provider: 'vendor', slots: manyStarts, slotsElsewhere: 0, capacityOf: new Map(), isStopped: false },
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
  await recordTick(database, 'dispatchVideos', whole.provider, tickId)
  await lockQueue(database, whole.provider)
  const claimed = await claimAccepted(database, whole, limit, { ...queueDefaults, ...limits }, tickId)
  await nextStartInMs(database, tables, whole.provider)
  return claimed
}

/** The same for a tick that may be executed repeatedly; returns the runs that it claims or has claimed. */
export const repeatableTick = async (database: Database, slots: number, tickId: string): Promise<Run[]> => {
  const whole = wholeQueue({ slots })
  const dispatcher = { loop: 'dispatchVideos', key: whole.provider, tables }
  const { runs } = await claimOnce(database, dispatcher, tickId, async () => {
    await lockQueue(database, whole.provider)
    return { runs: (await claimAccepted(database, whole, manyStarts, queueDefaults, tickId)).starts }
  })
  return runs
}

export const dispatchTick = (
  postgres: Postgres,
  queue: Partial<Queue> = {},
  limits: Partial<QueueLimits> = {},
  limit = manyStarts,
) => postgres.transaction((database) => tickOf(database, queue, limits, limit))

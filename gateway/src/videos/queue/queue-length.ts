import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../../platform/postgres.ts'
import type { VideoTask } from '../task.ts'
import type { QueueLimits } from './queue-limits.ts'
import { countWaiting } from './queue-store.ts'

// A guess: how fast a line moves depends on everybody's tasks. Client libraries wait no longer than a minute.
const retryAfterSeconds = 30
// Counting costs as much as is counted, so a line that is far from full is counted now and then.
const countEveryMs = 5_000
const farFromFull = 0.75
const rememberedMax = 10_000

const refusalOf = (depth: number) =>
  new ApiError('rate_limit_exceeded', {
    message: `Too many tasks are waiting: an account may have ${depth} in line. Try again when some have started.`,
    headers: {
      'retry-after': String(retryAfterSeconds),
      'retry-after-ms': String(retryAfterSeconds * 1000),
    },
  })

/**
 * Refuses tasks for which their account's line is too long; answers the refusals by task id. Creates that are committed
 * at the same moment do not see each other, so a line may end up longer by a handful.
 */
export const createQueueLength = (queueLimits: () => QueueLimits) => {
  /** At most this many wait, as far as this process knows until then. */
  const known = new Map<string, { waiting: number; untilMs: number }>()

  const count = async (database: Database, accountIds: string[], depth: number) => {
    if (accountIds.length === 0) return
    if (known.size > rememberedMax) known.clear()
    const untilMs = Date.now() + countEveryMs
    for (const [accountId, waiting] of await countWaiting(database, accountIds, depth))
      known.set(accountId, { waiting, untilMs })
  }

  return async (
    database: Database,
    tasks: Pick<VideoTask, 'id' | 'accountId'>[],
  ): Promise<Map<string, ApiError>> => {
    const depth = queueLimits().depthPerAccount
    const isFar = (accountId: string) => {
      const line = known.get(accountId)
      const more = tasks.filter((task) => task.accountId === accountId).length
      return line !== undefined && line.untilMs > Date.now() && line.waiting + more <= depth * farFromFull
    }
    const accountIds = [...new Set(tasks.map(({ accountId }) => accountId))]
    await count(
      database,
      accountIds.filter((accountId) => !isFar(accountId)),
      depth,
    )
    const refusals = new Map<string, ApiError>()
    for (const { id, accountId } of tasks) {
      const line = known.get(accountId) ?? { waiting: 0, untilMs: 0 }
      if (line.waiting >= depth) refusals.set(id, refusalOf(depth))
      else line.waiting += 1
    }
    return refusals
  }
}

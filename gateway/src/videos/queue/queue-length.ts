import { ApiError } from '@kinora/contract/errors'

import { rejection } from '../../platform/metrics/rejections.ts'
import type { Database } from '../../platform/postgres.ts'
import type { VideoTask } from '../task.ts'
import type { QueueLimits } from './queue-limits.ts'
import { countWaiting } from './queue-store.ts'

// An estimate, because the speed of a queue depends on the tasks of all accounts. Client libraries wait up to a minute.
const retryAfterSeconds = 30
// The cost of counting grows with the queue, so a queue that is far from full is counted only every few seconds.
const countEveryMs = 5_000
const farFromFull = 0.75
const rememberedMax = 10_000

const refusalOf = (lengthMax: number) =>
  rejection(
    'queue_length',
    new ApiError('rate_limit_exceeded', {
      message: `Queue full: an account may have ${lengthMax} waiting tasks. Try again when some have started.`,
      headers: { 'retry-after': String(retryAfterSeconds) },
    }),
  )

/**
 * Refuses tasks of accounts whose queue is full, and returns the refusals by task id. Concurrent admissions do not see
 * each other, so a queue may exceed its limit by a few tasks.
 */
export const createQueueLength = (queueLimits: () => QueueLimits) => {
  /** An upper bound of the waiting tasks, as far as this process knows, until it expires. */
  const known = new Map<string, { waiting: number; untilMs: number }>()

  const count = async (database: Database, accountIds: string[], lengthMax: number) => {
    if (accountIds.length === 0) return
    if (known.size > rememberedMax) known.clear()
    const untilMs = performance.now() + countEveryMs
    for (const [accountId, waiting] of await countWaiting(database, accountIds, lengthMax))
      known.set(accountId, { waiting, untilMs })
  }

  return async (
    database: Database,
    tasks: Pick<VideoTask, 'id' | 'accountId'>[],
  ): Promise<Map<string, ApiError>> => {
    const lengthMax = queueLimits().lengthPerAccount
    const isFar = (accountId: string) => {
      const queue = known.get(accountId)
      const added = tasks.filter((task) => task.accountId === accountId).length
      const isKnown = queue !== undefined && queue.untilMs > performance.now()
      return isKnown && queue.waiting + added <= lengthMax * farFromFull
    }
    const accountIds = [...new Set(tasks.map(({ accountId }) => accountId))]
    await count(
      database,
      accountIds.filter((accountId) => !isFar(accountId)),
      lengthMax,
    )
    const refusals = new Map<string, ApiError>()
    for (const { id, accountId } of tasks) {
      const queue = known.get(accountId) ?? { waiting: 0, untilMs: 0 }
      if (queue.waiting >= lengthMax) refusals.set(id, refusalOf(lengthMax))
      else queue.waiting += 1
    }
    return refusals
  }
}

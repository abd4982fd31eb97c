import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../platform/postgres.ts'
import type { Providers } from '../providers/port/provider.ts'
import type { LineLimits } from './line-limits.ts'
import { countWaiting } from './line-store.ts'
import type { VideoTask } from './task.ts'

// A guess: how fast a line moves depends on everybody's tasks. Client libraries wait no longer than a minute.
const retryAfterSeconds = 30

/**
 * Refuses the tasks for which their account's line is too long, by task id. Creates that are being committed at the same
 * time do not see each other, so a line may end up longer by those.
 */
export const refuseFullLines = async (
  database: Database,
  tasks: Pick<VideoTask, 'id' | 'accountId'>[],
  providers: Providers,
  { depthPerAccount }: LineLimits,
): Promise<Map<string, ApiError>> => {
  const accountIds = [...new Set(tasks.map(({ accountId }) => accountId))]
  const names = providers.all().map(({ name }) => name)
  const waiting = await countWaiting(database, accountIds, names, depthPerAccount)
  const refusals = new Map<string, ApiError>()
  for (const { id, accountId } of tasks) {
    const length = waiting.get(accountId) ?? 0
    if (length < depthPerAccount) {
      waiting.set(accountId, length + 1)
      continue
    }
    refusals.set(
      id,
      new ApiError('rate_limit_exceeded', {
        message: `Too many tasks are waiting: an account may have ${depthPerAccount} in line, try again when some have started.`,
        headers: {
          'retry-after': String(retryAfterSeconds),
          'retry-after-ms': String(retryAfterSeconds * 1000),
        },
      }),
    )
  }
  return refusals
}

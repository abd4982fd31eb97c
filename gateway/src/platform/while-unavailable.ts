import { setTimeout as pause } from 'node:timers/promises'

import type { Log } from './log.ts'
import { CommitOutcomeUnknown, isDatabaseUnavailable } from './postgres-errors.ts'

export const repeatForMs = 120_000
const firstWaitMs = 100
const waitMsMax = 2_000

/**
 * Repeats a write while the database is unavailable, for two minutes at most. It is for what would be forgotten with this
 * process, such as the answer of a provider. The write must have the same effect if it runs twice.
 */
export const repeatWhileUnavailable = async <Result>(
  write: () => Promise<Result>,
  log: Log,
): Promise<Result> => {
  const untilMs = performance.now() + repeatForMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, waitMsMax)) {
    try {
      return await write()
    } catch (error) {
      const isUnavailable = error instanceof CommitOutcomeUnknown || isDatabaseUnavailable(error)
      if (!isUnavailable || performance.now() > untilMs) throw error
      if (waitMs === firstWaitMs) log.warn({ err: error }, 'postgres.write-repeated')
      await pause(waitMs)
    }
  }
}

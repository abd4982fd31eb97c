/**
 * Wakes the dispatcher when a task has ended, if another one waits for its slot. A tick costs much more than the question, and
 * mostly nothing waits. A task that is accepted later wakes the dispatcher itself.
 */
import { batch, fulfilled } from '../../platform/batch.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { findProvidersWithQueue } from './carried-task-store.ts'

/** The returned function is called after the commit that has freed the slot; it returns at once and never throws. */
export const createFillSlot = ({
  database,
  wakeDispatcher,
  log,
}: {
  database: Database
  wakeDispatcher: (provider: string) => void
  log: Log
}): ((provider: string) => void) => {
  const hasQueue = batch(
    async (providers: string[]) => {
      const found = new Set(await findProvidersWithQueue(database, [...new Set(providers)]))
      return providers.map((each) => fulfilled(found.has(each)))
    },
    { inFlightMax: 1, sizeMax: 1_000 },
  )
  return (provider) => {
    hasQueue(provider).then(
      (isWaiting) => {
        if (isWaiting) wakeDispatcher(provider)
      },
      (error: unknown) => {
        log.debug({ err: error, provider }, 'queue.not-read')
        wakeDispatcher(provider)
      },
    )
  }
}

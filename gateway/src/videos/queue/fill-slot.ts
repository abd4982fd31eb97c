/**
 * Wakes the dispatcher when a task has ended, if another one waits for its slot. A tick costs much more than the question, and
 * mostly nothing waits. A task that is accepted later wakes the dispatcher itself, and so does one that was accepted a moment
 * ago: whether that still waits is asked once more.
 */
import { batch, fulfilled } from '../../platform/batch.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { findProvidersWithQueue } from './carried-task-store.ts'

/** The wake-up of a create needs less. */
const startedWithinMs = 200

/** The returned function is called after the commit that has freed the slot; it returns at once and never throws. */
export const createFillSlot = ({
  database,
  wakeDispatcher,
  stopping,
  log,
}: {
  database: Database
  wakeDispatcher: (provider: string) => void
  /** Aborted when this process begins to stop: from then on it leaves no question for later. */
  stopping: AbortSignal
  log: Log
}): ((provider: string) => void) => {
  const asksAgain = new Set<string>()
  const findQueue = batch(
    async (providers: string[]) => {
      const found = await findProvidersWithQueue(database, [...new Set(providers)], startedWithinMs)
      return providers.map((name) => fulfilled(found.find(({ provider }) => provider === name)))
    },
    { inFlightMax: 1, sizeMax: 1_000 },
  )
  const askLater = (provider: string) => {
    if (asksAgain.has(provider)) return
    asksAgain.add(provider)
    setTimeout(() => {
      asksAgain.delete(provider)
      fillSlot(provider)
    }, startedWithinMs).unref()
  }
  stopping.addEventListener('abort', () => {
    for (const provider of asksAgain) wakeDispatcher(provider)
  })
  const fillSlot = (provider: string): void => {
    if (stopping.aborted) {
      wakeDispatcher(provider)
      return
    }
    findQueue(provider).then(
      (queue) => {
        if (queue?.hasWaited === true) wakeDispatcher(provider)
        else if (queue !== undefined) askLater(provider)
      },
      (error: unknown) => {
        log.debug({ err: error, provider }, 'queue.not-read')
        wakeDispatcher(provider)
      },
    )
  }
  return fillSlot
}

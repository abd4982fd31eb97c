import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import { renewEventGeneration } from './event-feed-store.ts'

/** Checks whether the database was restored into another cluster or promoted. A failure is repeated by the workers. */
export const renewGeneration = async (database: Database, log: Log): Promise<void> => {
  try {
    if (await renewEventGeneration(database)) log.info('events.generation-renewed')
  } catch (error) {
    log.warn({ err: error }, 'events.generation-not-renewed')
  }
}

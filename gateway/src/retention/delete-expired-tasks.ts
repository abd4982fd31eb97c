/** Deletes what accounts no longer retain, each by its own retention, with everything that belongs to it. */
import type { Postgres } from '../platform/postgres.ts'
import { removeFiles } from '../storage/removal/remove-files.ts'
import { deleteEndedTranscriptions } from '../transcription-tasks/transcription-task-store.ts'
import { deleteTasks } from '../videos/removal/delete-tasks.ts'
import { retainingProviders } from '../videos/removal/remove-jobs.ts'
import {
  deleteExpiredRequests,
  findExpiredTranscriptions,
  findExpiredVideos,
  firstAccount,
} from './expired-task-store.ts'
import type { ExpiryDependencies } from './remove-expired-media.ts'

const perBatch = 1_000

interface Batch {
  found: { accountId: string }[]
  deleted: number
}

/** Goes through all accounts in batches. A batch that deletes nothing ends it, because the next would find the same. */
const inBatches = async (next: (from: string) => Promise<Batch>, signal: AbortSignal): Promise<number> => {
  let count = 0
  for (let from: string | undefined = firstAccount; from !== undefined && !signal.aborted;) {
    const { found, deleted }: Batch = await next(from)
    count += deleted
    from = found.length < perBatch || deleted === 0 ? undefined : found.at(-1)?.accountId
  }
  return count
}

/** Returns the number of deleted tasks. */
export const deleteExpiredTasks = async (
  dependencies: ExpiryDependencies,
  taskDays: number,
  signal: AbortSignal,
): Promise<number> => {
  const { postgres, providers } = dependencies
  const retaining = retainingProviders(providers)
  const pageFrom = (from: string) => ({ taskDays, from, limit: perBatch })

  const deleteVideos = async (from: string): Promise<Batch> => {
    const found = await findExpiredVideos(postgres, pageFrom(from))
    if (found.length === 0) return { found, deleted: 0 }
    const { ids, files } = await postgres.transaction((database) => deleteTasks(database, found, retaining))
    await removeFiles(dependencies, files)
    return { found, deleted: ids.length }
  }
  const deleteTranscriptions = async (from: string): Promise<Batch> => {
    const found = await findExpiredTranscriptions(postgres, pageFrom(from))
    if (found.length === 0) return { found, deleted: 0 }
    const { ids, files } = await deleteEndedTranscriptions(postgres, found)
    await removeFiles(dependencies, files)
    return { found, deleted: ids.length }
  }

  const videos = await inBatches(deleteVideos, signal)
  return videos + (await inBatches(deleteTranscriptions, signal))
}

/** Deletes metered requests, which have no content. Their usage entries stay. */
export const deleteExpiredMetering = (
  postgres: Postgres,
  taskDays: number,
  signal: AbortSignal,
): Promise<number> =>
  inBatches(async (from) => {
    const found = await deleteExpiredRequests(postgres, { taskDays, from, limit: perBatch })
    return { found, deleted: found.length }
  }, signal)

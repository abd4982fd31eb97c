/** Works on erasures every minute, and compares the erasure list with the database every hour, in one of the workers. */
import { everyTickMs, startPeriodicJobs } from '../platform/engine/periodic-jobs.ts'
import { repeatErasures } from './begin-erasure.ts'
import type { ErasureList } from './erasure-list.ts'
import { workOnErasures, type ErasureDependencies } from './work-on-erasures.ts'

const compareEveryMs = 3_600_000

export const startErasureLoop = (
  dependencies: ErasureDependencies & { erasureList: ErasureList },
): { stop: () => Promise<void> } => {
  const { postgres, erasureList, log } = dependencies
  const work = (stopping: AbortSignal) => workOnErasures(dependencies, stopping)
  const compare = async (stopping: AbortSignal) => {
    await erasureList.open()
    const repeated = (await repeatErasures(postgres, [erasureList])) ?? []
    for (const accountId of repeated) log.warn({ accountId }, 'erasure.repeated')
    if (repeated.length > 0) await work(stopping)
  }
  return startPeriodicJobs(dependencies, 'erasures', [
    { name: 'list', everyMs: compareEveryMs, isRunAtStart: true, run: compare },
    { name: 'work', everyMs: everyTickMs, isRunAtStart: true, run: work },
  ])
}

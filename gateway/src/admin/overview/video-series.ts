/** The videos of the last 24 hours in steps of five minutes. */
import type { Overview } from '@kinora/contract/operations/admin/overview'

import type { Database } from '../../platform/postgres.ts'
import { readNow, readVideoSeries, seriesStepSeconds, type EndedVideos } from './work-store.ts'

type Series = Overview['time_to_video']['series']

const steps = (24 * 3600) / seriesStepSeconds
/** An end may become visible this long after its time: longer than any transaction that ends a task. */
const settledSeconds = 600

const presentStep = (at: number, found: EndedVideos | undefined): Series[number] => ({
  at,
  completed: found?.completed ?? 0,
  failed: found?.failed ?? 0,
  p50_ms: found?.p50Ms ?? null,
  p95_ms: found?.p95Ms ?? null,
})

/** Keeps the steps that do not change any more, so that only the newest are read again. */
export const createVideoSeries = (): ((database: Database) => Promise<Series>) => {
  let settled = new Map<number, EndedVideos>()
  /** Up to here, the steps are known. */
  let settledUntil = 0
  return async (database) => {
    const now = await readNow(database)
    const last = Math.floor(now / seriesStepSeconds) * seriesStepSeconds
    const first = last - (steps - 1) * seriesStepSeconds
    const found = await readVideoSeries(database, Math.max(first, settledUntil))
    const known = new Map([...settled].filter(([at]) => at >= first && at < settledUntil))
    for (const step of found) known.set(step.at, step)
    settled = known
    settledUntil = Math.floor((now - settledSeconds) / seriesStepSeconds) * seriesStepSeconds
    return Array.from({ length: steps }, (_, index) => {
      const at = first + index * seriesStepSeconds
      return presentStep(at, known.get(at))
    })
  }
}

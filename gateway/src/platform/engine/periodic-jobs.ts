/**
 * Runs periodic jobs, each in one of the workers at a time: whoever gets the lease of a job runs it. A long job does not
 * delay the others.
 */
import type { Log } from '../log.ts'
import type { Database } from '../postgres.ts'
import { claimJob } from './tick-store.ts'

export interface PeriodicJob {
  name: string
  /** How long the lease lasts. */
  everyMs: number
  /**
   * Each process runs the job once without the lease, as soon as it succeeds: a database that was restored by other means
   * has the leases of its past.
   */
  isRunAtStart?: boolean
  run: (stopping: AbortSignal) => Promise<void>
}

const tickEveryMs = 60_000
/** A lease that is shorter than a tick, so that one worker runs the job in every tick. */
export const everyTickMs = 50_000

export const startPeriodicJobs = (
  { postgres, log }: { postgres: Database; log: Log },
  loop: string,
  jobs: PeriodicJob[],
): { stop: () => Promise<void> } => {
  const stopping = new AbortController()
  const toRunAtStart = new Set(jobs.filter(({ isRunAtStart = false }) => isRunAtStart))
  const runJob = async (job: PeriodicJob) => {
    const { name, everyMs, run } = job
    try {
      if (!(await claimJob(postgres, loop, name, everyMs)) && !toRunAtStart.has(job)) return
      await run(stopping.signal)
      toRunAtStart.delete(job)
    } catch (error) {
      log.warn({ err: error, job: name }, `${loop}.job-failed`)
    }
  }
  const running = new Map<PeriodicJob, Promise<void>>()
  const tick = () => {
    for (const job of jobs) {
      if (running.has(job)) continue
      running.set(
        job,
        runJob(job).finally(() => running.delete(job)),
      )
    }
  }
  tick()
  const timer = setInterval(tick, tickEveryMs)
  return {
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      await Promise.all(running.values())
    },
  }
}

/**
 * Runs periodic jobs, each in one of the workers at a time: whoever gets the lease of a job runs it. A long job does not
 * delay the others.
 */
import type { Log } from '../log.ts'
import type { Database } from '../postgres.ts'
import { claimJobs } from './tick-store.ts'

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
  const running = new Set<PeriodicJob>()
  const work = new Set<Promise<void>>()
  const runJob = async (job: PeriodicJob) => {
    running.add(job)
    try {
      await job.run(stopping.signal)
      toRunAtStart.delete(job)
    } catch (error) {
      log.warn({ err: error, job: job.name }, `${loop}.job-failed`)
    } finally {
      running.delete(job)
    }
  }
  const runDue = async () => {
    const idle = jobs.filter((job) => !running.has(job))
    if (idle.length === 0) return
    try {
      const claimed = await claimJobs(postgres, loop, idle)
      const due = idle.filter((job) => !running.has(job) && (claimed.has(job.name) || toRunAtStart.has(job)))
      await Promise.all(due.map(runJob))
    } catch (error) {
      log.warn({ err: error }, `${loop}.jobs-not-claimed`)
    }
  }
  const tick = () => {
    const done = runDue().finally(() => work.delete(done))
    work.add(done)
  }
  tick()
  const timer = setInterval(tick, tickEveryMs)
  return {
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      await Promise.all(work)
    },
  }
}

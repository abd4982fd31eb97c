import path from 'node:path'

import { placeOf } from '../ffmpeg/render-failure.ts'
import type { FfmpegTool } from '../ffmpeg/sandbox.ts'
import { filmFileName } from '../film/render-film.ts'
import type { JobDirectory } from '../jobs/job-directory.ts'
import type { JobError, JobRecord } from '../jobs/job.ts'
import { parsePrompt, type Simulation } from '../jobs/simulation.ts'
import type { Log } from '../log.ts'
import { startRenderProcess } from './render-process.ts'
import { jumpyPercent, needsSimulation, simulate } from './run-simulation.ts'

export interface LiveJob {
  record: JobRecord
  progress: number
}

interface QueuedJob extends LiveJob {
  simulation: Simulation
  /** The progress at which the real render starts; above 0 after a slow simulation. */
  fromPercent: number
  /** Stops the simulation or render of this job. */
  stop: () => void
  removed: boolean
  /** Settles when the job's folder is no longer in use. */
  busy: Promise<void>
}

export interface RenderQueueOptions {
  directory: JobDirectory
  tool: FfmpegTool
  /** How many films are rendered concurrently. */
  renders: number
  threads: number
  log: Log
  onEnded?: (outcome: 'done' | 'failed' | 'stopped', ms: number) => void
}

export function createRenderQueue(options: RenderQueueOptions) {
  const { directory, log } = options
  const jobs = new Map<string, QueuedJob>()
  const waiting: QueuedJob[] = []
  let renderingCount = 0
  let closed = false

  function add(record: JobRecord): LiveJob {
    const finished = record.state === 'done' || record.state === 'failed'
    const job: QueuedJob = {
      record,
      progress: record.state === 'done' ? 100 : 0,
      simulation: parsePrompt(record.request.prompt).simulation,
      fromPercent: 0,
      stop: () => {},
      removed: false,
      busy: Promise.resolve(),
    }
    jobs.set(record.id, job)
    if (finished) return job
    if (needsSimulation(job.simulation)) job.busy = runSimulation(job)
    else enqueue(job)
    return job
  }

  function enqueue(job: QueuedJob): void {
    waiting.push(job)
    startWaiting()
  }

  function startWaiting(): void {
    while (!closed && renderingCount < options.renders) {
      const job = waiting.shift()
      if (job === undefined) return
      renderingCount++
      job.busy = render(job).finally(() => {
        renderingCount--
        startWaiting()
      })
    }
  }

  async function runSimulation(job: QueuedJob): Promise<void> {
    const controller = new AbortController()
    job.stop = () => controller.abort()
    job.record.state = 'running'
    try {
      const outcome = await simulate(job.simulation, (percent) => advance(job, percent), controller.signal)
      if (outcome.type === 'fail') return await fail(job, outcome.error, 'simulated')
      job.fromPercent = outcome.fromPercent
      enqueue(job)
    } catch (error) {
      if (!controller.signal.aborted)
        log('local.simulation_failed', { id: job.record.id, err: error }, 'error')
    }
  }

  async function render(job: QueuedJob): Promise<void> {
    const { record } = job
    const startedAt = performance.now()
    record.state = 'running'
    let outcomeName: 'done' | 'failed' | 'stopped' = 'stopped'
    try {
      const workDirectory = await directory.beginWork(record.id)
      if (job.removed || closed) return
      const rendering = startRenderProcess(
        {
          request: record.request,
          files: directory.filesOf(record),
          workDirectory,
          tool: options.tool,
          threads: options.threads,
        },
        (percent) => advance(job, job.fromPercent + (percent * (99 - job.fromPercent)) / 99),
      )
      job.stop = () => rendering.stop()
      const outcome = await rendering.outcome
      if (job.removed || outcome.type === 'stopped') return
      if (outcome.type === 'failed') {
        outcomeName = 'failed'
        return await fail(job, outcome, outcome.detail)
      }
      record.sizeBytes = await directory.storeResult(record.id, path.join(workDirectory, filmFileName))
      record.finishedAt = new Date().toISOString()
      await directory.save({ ...record, state: 'done' })
      record.state = 'done'
      outcomeName = 'done'
      job.progress = 100
      log('local.rendered', {
        id: record.id,
        wallMs: Math.round(performance.now() - startedAt),
        sizeBytes: record.sizeBytes,
      })
      await directory.removeInputs(record)
    } catch (error) {
      if (job.removed) return
      outcomeName = 'failed'
      await fail(job, { code: 'upstream_error', message: 'The video could not be rendered.' }, placeOf(error))
    } finally {
      options.onEnded?.(outcomeName, performance.now() - startedAt)
    }
  }

  async function fail(job: QueuedJob, error: JobError, detail: string | undefined): Promise<void> {
    const { record } = job
    if (job.removed || record.state === 'done') return
    log('local.render_failed', { id: record.id, code: error.code, detail }, 'warn')
    record.error = { code: error.code, message: error.message }
    record.finishedAt = new Date().toISOString()
    try {
      await directory.save({ ...record, state: 'failed' })
      await directory.removeInputs(record)
    } catch (saveError) {
      log('local.save_failed', { id: record.id, err: saveError }, 'error')
    }
    record.state = 'failed'
  }

  function advance(job: QueuedJob, percent: number): void {
    if (job.removed || job.record.state !== 'running') return
    const whole = Math.min(99, Math.floor(percent))
    job.progress = job.simulation.jumpyProgress === true ? jumpyPercent(whole) : whole
  }

  async function halt(job: QueuedJob): Promise<void> {
    const index = waiting.indexOf(job)
    if (index !== -1) waiting.splice(index, 1)
    job.stop()
    await job.busy
  }

  async function remove(id: string): Promise<void> {
    const job = jobs.get(id)
    if (job === undefined) return
    job.removed = true
    await halt(job)
    await directory.remove(id)
    jobs.delete(id)
  }

  return {
    add,
    remove,
    find(id: string): LiveJob | undefined {
      const job = jobs.get(id)
      return job?.removed === true ? undefined : job
    },
    waitingCount: () => waiting.length,
    counts: () => ({ running: renderingCount, waiting: waiting.length }),

    /** Removes the jobs that finished before `time`. */
    async sweep(time: Date): Promise<void> {
      for (const { record } of [...jobs.values()]) {
        if (record.finishedAt === undefined || new Date(record.finishedAt) >= time) continue
        await remove(record.id)
        log('local.expired', { id: record.id })
      }
    },

    /** Stops all work. Unfinished jobs stay on disk for the next start. */
    async close(): Promise<void> {
      closed = true
      await Promise.all([...jobs.values()].map(halt))
    },
  }
}

import type { JobError } from '../jobs/job.ts'
import type { Simulation } from '../jobs/simulation.ts'

export type SimulationOutcome = { type: 'render'; fromPercent: number } | { type: 'fail'; error: JobError }

/** The progress that a slow job reaches before its real render starts. */
const slowPercent = 40
const tickMs = 100
const climbMs = 1200

/** Whether the job is simulated before, or instead of, its render. */
export function needsSimulation(simulation: Simulation): boolean {
  return simulation.fail !== undefined || simulation.slowMs !== undefined || simulation.stall === true
}

/**
 * Runs the simulation that a prompt requests. It uses neither a process nor a render slot, so a stalled job does not
 * block real ones. A stall never resolves; `signal` makes it reject.
 */
export async function simulate(
  simulation: Simulation,
  onProgress: (percent: number) => void,
  signal: AbortSignal,
): Promise<SimulationOutcome> {
  let reached = 0
  if (simulation.slowMs !== undefined) {
    await climb(0, slowPercent, simulation.slowMs, onProgress, signal)
    reached = slowPercent
  }
  if (simulation.fail !== undefined) {
    const { code, atPercent } = simulation.fail
    if (atPercent > reached) await climb(reached, atPercent, climbMs, onProgress, signal)
    return { type: 'fail', error: { code, message: `Simulated failure requested by the prompt (${code}).` } }
  }
  if (simulation.stall === true) {
    onProgress(50)
    await pause(undefined, signal)
  }
  return { type: 'render', fromPercent: reached }
}

async function climb(
  from: number,
  to: number,
  durationMs: number,
  onProgress: (percent: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    const share = durationMs === 0 ? 1 : Math.min(1, (performance.now() - startedAt) / durationMs)
    onProgress(Math.floor(from + (to - from) * share))
    if (share === 1) return
    await pause(Math.min(tickMs, durationMs), signal)
  }
}

function pause(durationMs: number | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = durationMs === undefined ? undefined : setTimeout(done, durationMs)
    const stop = () => {
      clearTimeout(timer)
      reject(new Error('The simulation was stopped.'))
    }
    function done(): void {
      signal.removeEventListener('abort', stop)
      resolve()
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

const jumps = [40, 20, 70, 10, 90]

/** A progress that also decreases, for testing clients. */
export function jumpyPercent(percent: number): number {
  return jumps[Math.min(jumps.length - 1, Math.floor(percent / (100 / jumps.length)))] ?? percent
}

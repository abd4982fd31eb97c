import type { JobError } from '../jobs/job.ts'
import type { MagicWords } from '../jobs/simulation.ts'

export type SimulationOutcome = { type: 'render'; fromPercent: number } | { type: 'fail'; error: JobError }

/** How far the progress of a slow job creeps before the real render takes over. */
const slowShare = 40
const tickMs = 100
const climbMs = 1200

/** Whether the job is to be played rather than rendered, at least at first. */
export function needsSimulation(magic: MagicWords): boolean {
  return magic.fail !== undefined || magic.slowMs !== undefined || magic.stall === true
}

/**
 * Plays the trouble a prompt asked for. This needs neither a process nor a render slot, so a stalled
 * rehearsal does not hold up real work. Resolves never for a stall; `signal` ends it by rejecting.
 */
export async function simulate(
  magic: MagicWords,
  onProgress: (percent: number) => void,
  signal: AbortSignal,
): Promise<SimulationOutcome> {
  let reached = 0
  if (magic.slowMs !== undefined) {
    await climb(0, slowShare, magic.slowMs, onProgress, signal)
    reached = slowShare
  }
  if (magic.fail !== undefined) {
    const { code, atPercent } = magic.fail
    if (atPercent > reached) await climb(reached, atPercent, climbMs, onProgress, signal)
    return { type: 'fail', error: { code, message: `The prompt asked for this failure (${code}).` } }
  }
  if (magic.stall === true) {
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
  const begun = performance.now()
  for (;;) {
    const share = durationMs === 0 ? 1 : Math.min(1, (performance.now() - begun) / durationMs)
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
      reject(new Error('The rehearsal was stopped.'))
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

/** A progress that goes to and fro, for clients that ought to bear it. */
export function jumpyPercent(percent: number): number {
  return jumps[Math.min(jumps.length - 1, Math.floor(percent / (100 / jumps.length)))] ?? percent
}

/** Runs the parts of the sweep that are due, every minute in each worker. */
import { claimJob } from '../platform/engine/tick-store.ts'
import { sweepMedia, sweepOrphans, sweepRows, type SweepDependencies, type Swept } from './sweep.ts'

type Part = (dependencies: SweepDependencies, signal: AbortSignal) => Promise<Partial<Swept>>

const tickEveryMs = 60_000

// The lease of a part lasts `everyMs`. The first is shorter than a tick, so that every tick sweeps media.
const parts: { name: string; everyMs: number; run: Part }[] = [
  { name: 'media', everyMs: 50_000, run: sweepMedia },
  { name: 'records', everyMs: 3_600_000, run: sweepRows },
  { name: 'files', everyMs: 86_400_000, run: sweepOrphans },
]

const isSomething = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== 0)

export const startRetentionLoop = (dependencies: SweepDependencies): { stop: () => Promise<void> } => {
  const { postgres, log } = dependencies
  const stopping = new AbortController()
  const tick = async () => {
    for (const { name, everyMs, run } of parts) {
      if (stopping.signal.aborted) return
      try {
        if (!(await claimJob(postgres, 'retention', name, everyMs))) continue
        const swept = await run(dependencies, stopping.signal)
        if (Object.values(swept).some(isSomething)) log.info(swept, 'retention.swept')
      } catch (error) {
        log.warn({ err: error, part: name }, 'retention.sweep-failed')
      }
    }
  }
  let running: Promise<void> | undefined
  const runTick = () => {
    running ??= tick().finally(() => {
      running = undefined
    })
  }
  runTick()
  const timer = setInterval(runTick, tickEveryMs)
  return {
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}

/** Runs the parts of the sweep that are due, in one of the workers. */
import { everyTickMs, startPeriodicJobs } from '../platform/engine/periodic-jobs.ts'
import {
  sweepFiles,
  sweepJobs,
  sweepMedia,
  sweepOrphans,
  sweepRows,
  type SweepDependencies,
  type Swept,
} from './sweep.ts'

type Part = (dependencies: SweepDependencies, signal: AbortSignal) => Promise<Partial<Swept>>

const parts: { name: string; everyMs: number; sweep: Part }[] = [
  { name: 'media', everyMs: everyTickMs, sweep: sweepMedia },
  { name: 'removals', everyMs: everyTickMs, sweep: sweepFiles },
  { name: 'jobs', everyMs: everyTickMs, sweep: sweepJobs },
  { name: 'records', everyMs: 3_600_000, sweep: sweepRows },
  { name: 'files', everyMs: 86_400_000, sweep: sweepOrphans },
]

const isSomething = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== 0)

export const startRetentionLoop = (dependencies: SweepDependencies): { stop: () => Promise<void> } =>
  startPeriodicJobs(
    dependencies,
    'retention',
    parts.map(({ name, everyMs, sweep }) => ({
      ...{ name, everyMs },
      run: async (stopping) => {
        const swept = await sweep(dependencies, stopping)
        if (Object.values(swept).some(isSomething)) dependencies.log.info(swept, 'retention.swept')
      },
    })),
  )

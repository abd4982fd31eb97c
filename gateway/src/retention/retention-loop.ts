import { claimLease } from './sweep-lease-store.ts'
/** What every worker does beside its tasks: it looks every minute whether something's time is over, and clears it away. */
import { clearFiles, clearMedia, clearRecords, type ClearDependencies, type Cleared } from './sweep.ts'

type Part = (dependencies: ClearDependencies, signal: AbortSignal) => Promise<Partial<Cleared>>

const lookEveryMs = 60_000

// One worker has a part to itself for so long; the first is shorter than a look so that no look is in vain.
const parts: { name: string; everyMs: number; clear: Part }[] = [
  { name: 'media', everyMs: 50_000, clear: clearMedia },
  { name: 'records', everyMs: 3_600_000, clear: clearRecords },
  { name: 'files', everyMs: 86_400_000, clear: clearFiles },
]

const isSomething = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== 0)

export const startRetentionLoop = (dependencies: ClearDependencies): { stop: () => Promise<void> } => {
  const { postgres, log } = dependencies
  const stopping = new AbortController()
  const look = async () => {
    for (const { name, everyMs, clear } of parts) {
      if (stopping.signal.aborted) return
      try {
        if (!(await claimLease(postgres, name, everyMs))) continue
        const cleared = await clear(dependencies, stopping.signal)
        if (Object.values(cleared).some(isSomething)) log.info(cleared, 'retention.swept')
      } catch (error) {
        log.warn({ err: error, part: name }, 'retention.sweep-failed')
      }
    }
  }
  let looking: Promise<void> | undefined
  const lookOnce = () => {
    looking ??= look().finally(() => {
      looking = undefined
    })
  }
  lookOnce()
  const timer = setInterval(lookOnce, lookEveryMs)
  return {
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      await looking
    },
  }
}

/** A process that calls a server which never answers, and tells its parent whether it stood still meanwhile. */
import { watchForStalls } from '../../src/platform/stalls.ts'

const stalls = watchForStalls({ warn: () => {} })
const startedMs = performance.now()
const failure = await fetch(process.argv[2] ?? '', { signal: AbortSignal.timeout(1_000) }).then(
  () => 'none',
  (error: unknown) => (error as Error).name,
)
const during = stalls.hasStalledSince(startedMs)
process.send?.({ failure, during, after: stalls.hasStalledSince(performance.now()) })
process.disconnect()

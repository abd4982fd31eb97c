import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { touchRun } from './open-transcription-store.ts'

const signOfLifeMs = 2_000

/**
 * Says every few seconds that a run is alive for as long as `work` takes. The signal is aborted when the record has
 * moved past the run, such as when its task was deleted.
 */
export const heartbeat = async <Result>(
  { postgres, log }: { postgres: Postgres; log: Log },
  taskId: string,
  run: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const over = new AbortController()
  const timer = setInterval(() => {
    touchRun(postgres, taskId, run).then(
      (open) => {
        if (open === undefined) over.abort()
      },
      (error: unknown) => log.warn({ err: error, taskId }, 'transcription.stalled'),
    )
  }, signOfLifeMs)
  try {
    return await work(over.signal)
  } finally {
    clearInterval(timer)
  }
}

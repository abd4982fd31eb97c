import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { touchRun } from './open-transcription-store.ts'

const intervalMs = 2_000

/**
 * Sends heartbeats of a run while `work` is running. The signal is aborted when the run is no longer current, for
 * example because its task was deleted.
 */
export const heartbeat = async <Result>(
  { postgres, log }: { postgres: Postgres; log: Log },
  taskId: string,
  run: number,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const superseded = new AbortController()
  const timer = setInterval(() => {
    touchRun(postgres, taskId, run).then(
      (open) => {
        if (open === undefined) superseded.abort()
      },
      (error: unknown) => log.warn({ err: error, taskId }, 'transcription.heartbeat-failed'),
    )
  }, intervalMs)
  try {
    return await work(superseded.signal)
  } finally {
    clearInterval(timer)
  }
}

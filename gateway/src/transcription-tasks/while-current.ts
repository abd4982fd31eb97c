import type { Run } from '../platform/engine/run-key.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { isCurrentRun } from './open-transcription-store.ts'

const checkEveryMs = 2_000

/**
 * Runs `work` with a signal that is aborted when the run is no longer current, for example because its task was deleted.
 */
export const whileCurrent = async <Result>(
  { postgres, log }: { postgres: Postgres; log: Log },
  run: Run,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const superseded = new AbortController()
  const timer = setInterval(() => {
    isCurrentRun(postgres, run).then(
      (isCurrent) => {
        if (!isCurrent) superseded.abort()
      },
      (error: unknown) => log.warn({ err: error, taskId: run.taskId }, 'transcription.check-failed'),
    )
  }, checkEveryMs)
  try {
    return await work(superseded.signal)
  } finally {
    clearInterval(timer)
  }
}

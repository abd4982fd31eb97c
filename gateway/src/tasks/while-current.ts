import type { Run } from '../platform/engine/run-key.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { isCurrentRun } from './run-store.ts'
import type { TaskTables } from './task.ts'

export interface CurrentDependencies {
  postgres: Postgres
  log: Log
  tables: TaskTables
  /** Unless given, the work goes on while the worker stops. */
  stopping?: AbortSignal
}

/**
 * Runs `work` with a signal that is aborted when the run is no longer current, for example because its task was deleted, or
 * when the worker begins to stop.
 */
export const whileCurrent = async <Result>(
  { postgres, log, tables, stopping }: CurrentDependencies,
  run: Run,
  { checkEveryMs }: { checkEveryMs: number },
  work: (superseded: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const superseded = new AbortController()
  const stop = () => superseded.abort()
  stopping?.addEventListener('abort', stop)
  const timer = setInterval(() => {
    isCurrentRun(postgres, tables, run).then(
      (isCurrent) => {
        if (!isCurrent) superseded.abort()
      },
      (error: unknown) => log.warn({ err: error, taskId: run.taskId }, 'task.check-failed'),
    )
  }, checkEveryMs)
  try {
    return await work(superseded.signal)
  } finally {
    clearInterval(timer)
    stopping?.removeEventListener('abort', stop)
  }
}

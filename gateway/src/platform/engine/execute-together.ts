/** Executes the runs of one call of the engine at the same time. */
import { setTimeout as pause } from 'node:timers/promises'

import type { Run } from './run-key.ts'

interface TogetherOptions {
  /** Starts a run by itself, as a call of its own. */
  startAlone: ((run: Run) => Promise<void>) | undefined
  /** How long to wait before that is tried again. */
  pauseMs?: number
  stopping: AbortSignal
}

/**
 * A run that throws is started by itself, so that its repetition waits for none of the others. The engine repeats the whole call
 * only after all of them, so starting it is tried again while others are executed.
 */
export const executeTogether = async (
  runs: Run[],
  execute: (run: Run) => Promise<void>,
  { startAlone, pauseMs = 1_000, stopping }: TogetherOptions,
): Promise<void> => {
  let executing = runs.length
  const restart = async (run: Run, error: unknown) => {
    if (startAlone === undefined) throw error
    for (;;) {
      try {
        return await startAlone(run)
      } catch {
        if (executing === 0 || stopping.aborted) throw error
      }
      await pause(pauseMs)
    }
  }
  const executeOrRestart = async (run: Run) => {
    try {
      await execute(run)
      executing -= 1
    } catch (error) {
      executing -= 1
      await restart(run, error)
    }
  }
  const settled = await Promise.allSettled(runs.map(executeOrRestart))
  const failed = settled.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

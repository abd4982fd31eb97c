/**
 * The steps that this worker executes. A stopping worker waits for them and not for the engine's streams: the engine may
 * have dropped a stream and given its run to another worker, while only this process will learn a provider's response.
 */
import { setMaxListeners } from 'node:events'

export interface RunningSteps {
  /** Executes a step. Throws if the worker is stopping; the engine then repeats the step on another worker. */
  run: <Result>(step: () => Promise<Result>) => Promise<Result>
  /** Aborted when the worker begins to stop. Long steps end early, and no request that cannot be repeated is sent. */
  stopping: AbortSignal
  /** Starts no further steps, and waits for those in progress. */
  stop: () => Promise<void>
}

export const createRunningSteps = (): RunningSteps => {
  const stopping = new AbortController()
  const running = new Set<Promise<unknown>>()
  setMaxListeners(0, stopping.signal)
  return {
    run: async (step) => {
      stopping.signal.throwIfAborted()
      const result = step()
      running.add(result)
      try {
        return await result
      } finally {
        running.delete(result)
      }
    },
    stopping: stopping.signal,
    stop: async () => {
      stopping.abort(new Error('the worker is stopping'))
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}

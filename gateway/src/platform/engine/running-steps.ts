/**
 * The steps that this worker executes. A stopping worker waits for them and not for the engine's streams: the engine may
 * have dropped a stream and given its run to another worker, while only this process will learn a provider's response.
 *
 * A response that it has learned is recorded even after the drain (`recording`), because the database may be down then.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

import { reduceError } from '../describe-error.ts'
import { repeatForMs } from '../while-unavailable.ts'

export interface RunningSteps {
  /**
   * Executes a step. Throws if the worker is stopping; the engine then repeats the step on another worker. The engine stores
   * and shows why a step failed, so the error of a step is thrown without its message.
   */
  run: <Result>(step: () => Promise<Result>) => Promise<Result>
  /** Aborted when the worker begins to stop. Long steps end early, and no request that cannot be repeated is sent. */
  stopping: AbortSignal
  /** Starts no further steps, and waits for those in progress. */
  stop: () => Promise<void>
  /** Records what would be forgotten with this process. */
  record: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** How many such records are in progress. */
  recording: () => number
  /** Waits for these records, for two minutes at most. */
  untilRecorded: () => Promise<void>
}

/** Runs work that is counted in a set while it is in progress. */
const runIn = async <Result>(set: Set<Promise<unknown>>, work: () => Promise<Result>): Promise<Result> => {
  const result = work()
  set.add(result)
  try {
    return await result
  } finally {
    set.delete(result)
  }
}

const untilEmpty = async (set: Set<Promise<unknown>>): Promise<void> => {
  while (set.size > 0) await Promise.allSettled(set)
}

export const createRunningSteps = (): RunningSteps => {
  const stopping = new AbortController()
  const running = new Set<Promise<unknown>>()
  const records = new Set<Promise<unknown>>()
  setMaxListeners(0, stopping.signal)
  return {
    run: async (step) => {
      stopping.signal.throwIfAborted()
      try {
        return await runIn(running, step)
      } catch (error) {
        throw reduceError(error)
      }
    },
    stopping: stopping.signal,
    stop: async () => {
      stopping.abort(new Error('the worker is stopping'))
      await untilEmpty(running)
    },
    record: (work) => runIn(records, work),
    recording: () => records.size,
    untilRecorded: async () => {
      const limit = new AbortController()
      const limited = pause(repeatForMs, undefined, { signal: limit.signal, ref: false }).catch(
        () => undefined,
      )
      await Promise.race([untilEmpty(records), limited])
      limit.abort()
    },
  }
}

import { setImmediate } from 'node:timers/promises'

let last: Promise<unknown> = Promise.resolve()

/**
 * Resolves in a tick of the event loop of its own. Await it before each chunk of long work: however much such work runs
 * at once, each tick processes only one chunk, and other requests are served in between.
 */
export const yieldToEventLoop = (): Promise<unknown> => {
  last = last.then(() => setImmediate())
  return last
}

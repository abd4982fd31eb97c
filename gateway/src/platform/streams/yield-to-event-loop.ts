import { setImmediate } from 'node:timers/promises'

let last: Promise<unknown> = Promise.resolve()

/**
 * Resolves in a turn of the event loop that nobody else was given. Whoever works through something large asks before
 * each piece: however many such works are under way, a turn has one piece of one of them, and everybody else is
 * served in between.
 */
export const yieldToEventLoop = (): Promise<unknown> => {
  last = last.then(() => setImmediate())
  return last
}

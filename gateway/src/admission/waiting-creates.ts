/**
 * Bounds the creates that wait in this process, so that a database or an event loop that falls behind causes refusals
 * at once instead of ever longer waits. A create waits for its checks and for its commit; queries that wait for a
 * database connection count as well. The body is not included, because its arrival is up to the client.
 *
 * A burst may fill the whole limit. If creates then wait longer than intended, the limit is lowered in proportion, down
 * to a tenth, until they do not; once none waits, it is the whole limit again.
 *
 * Over the limit, an account is refused unless it has less than an equal share of the limit. So the accounts that fill
 * the limit are refused first, and an account with a few creates is still served. In total, twice the limit may wait.
 */
import { ApiError } from '@kinora/contract/errors'

import { rejection } from '../platform/metrics/rejections.ts'

export interface WaitingCreates {
  /** Whether the creates of some account would be refused. */
  isFull: () => boolean
  /** The refusal of another create of this account; undefined if it may wait. */
  refusalFor: (owner: string) => ApiError | undefined
  /** Counts a create until the returned function is called. */
  enter: (owner: string) => () => void
}

export interface WaitingLimits {
  waitingMax: number
  /** The mean wait above which fewer creates may wait; Infinity if their number does not depend on it. */
  waitMs: number
}

/** One for all, because an error of its own for each refusal would cost more than the rest of it. */
export const overloaded = rejection(
  'overload',
  new ApiError('service_unavailable', {
    message: 'This server is overloaded. Try again in 2 s.',
    headers: { 'retry-after': '2' },
  }),
)

const lowestShare = 0.1
const growthMax = 1.2

export const createWaitingCreates = (
  { waitingMax, waitMs }: WaitingLimits,
  waitingQueries: () => number,
  now: () => number = () => performance.now(),
): WaitingCreates => {
  const counts = new Map<string, number>()
  let total = 0
  let limit = waitingMax
  /** The creates that have ended since the limit was last adjusted. */
  let ended = { sinceMs: now(), count: 0, waitedMs: 0 }

  const adjust = (waitedMs: number) => {
    ended.count += 1
    ended.waitedMs += waitedMs
    if (total === 0) limit = waitingMax
    else if (now() - ended.sinceMs < waitMs) return
    else {
      const change = Math.min(growthMax, (waitMs * ended.count) / Math.max(1, ended.waitedMs))
      limit = Math.min(waitingMax, Math.max(1, waitingMax * lowestShare, limit * change))
    }
    ended = { sinceMs: now(), count: 0, waitedMs: 0 }
  }

  const isFull = () => total + waitingQueries() >= limit

  return {
    isFull,
    refusalFor: (owner) => {
      if (!isFull()) return undefined
      const queries = waitingQueries()
      const own = counts.get(owner) ?? 0
      const owners = counts.size + (own === 0 ? 1 : 0)
      const share = (limit - queries) / owners
      return total + queries < 2 * limit && own < share ? undefined : overloaded
    },
    enter: (owner) => {
      counts.set(owner, (counts.get(owner) ?? 0) + 1)
      total += 1
      const enteredMs = now()
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        total -= 1
        const left = (counts.get(owner) ?? 0) - 1
        if (left > 0) counts.set(owner, left)
        else counts.delete(owner)
        adjust(now() - enteredMs)
      }
    },
  }
}

/**
 * Bounds the creates that wait in this process, so that a database or an event loop that falls behind causes refusals
 * at once instead of ever longer waits. A create waits for its checks and for its commit; queries that wait for a
 * database connection count as well. The body is not included, because its arrival is up to the client.
 *
 * Over the limit, an account is refused unless it has less than an equal share of the limit. So the accounts that fill
 * the limit are refused first, and an account with a few creates is still served. In total, twice the limit may wait.
 */
import { ApiError } from '@kinora/contract/errors'

export interface WaitingCreates {
  /** The refusal of another create of this account; undefined if it may wait. */
  refusalFor: (owner: string) => ApiError | undefined
  /** Counts a create until the returned function is called. */
  enter: (owner: string) => () => void
}

export const overloaded = () =>
  new ApiError('service_unavailable', {
    message: 'This server is overloaded. Try again in 2 s.',
    headers: { 'retry-after': '2' },
  })

export const createWaitingCreates = (waitingMax: number, waitingQueries: () => number): WaitingCreates => {
  const counts = new Map<string, number>()
  let total = 0

  return {
    refusalFor: (owner) => {
      const queries = waitingQueries()
      if (total + queries < waitingMax) return undefined
      const own = counts.get(owner) ?? 0
      const owners = counts.size + (own === 0 ? 1 : 0)
      const share = (waitingMax - queries) / owners
      return total + queries < 2 * waitingMax && own < share ? undefined : overloaded()
    },
    enter: (owner) => {
      counts.set(owner, (counts.get(owner) ?? 0) + 1)
      total += 1
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        total -= 1
        const left = (counts.get(owner) ?? 0) - 1
        if (left > 0) counts.set(owner, left)
        else counts.delete(owner)
      }
    },
  }
}

/**
 * A queue that is fair across accounts. A fixed number of entries run at once, only some of them of one account, and
 * waiting accounts are served round-robin. Entries are counted per account, key and address prefix from the moment
 * they are admitted, and an entry over a limit is refused instead of queued.
 *
 * Written by hand: p-queue has abort signals but one order for everybody (a custom queue class cannot skip an account
 * whose share is in use), and bottleneck has groups, but neither a shared order across them nor abort signals, and no
 * release since 2019.
 */
import type { ScopeLimits } from './admission.ts'

interface Submitter {
  accountId: string
  keyId: string
  addressPrefix: string
}

export interface FairQueueLimits {
  /** Entries that run at once. */
  concurrency: number
  /** Of those, how many may be of one account. */
  runningPerAccount: number
  /** What may run and wait. */
  inFlight: ScopeLimits
}

type Scope = keyof ScopeLimits

/** Runs the work when it is this submitter's turn. Aborting drops a waiting entry; a running one gets the signal. */
export type FairQueue = <Result>(
  submitter: Submitter,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>

interface Lane {
  accountId: string
  /** What starts each waiting entry, oldest first. */
  waiting: Set<() => void>
  running: number
}

/** Makes the queue; `refusalOf` makes the error for an entry over a limit. */
export const createFairQueue = (
  limits: FairQueueLimits,
  refusalOf: (scope: Scope, limit: number) => Error,
): FairQueue => {
  /** By account, the one that started an entry longest ago first. */
  const lanes = new Map<string, Lane>()
  const counts = new Map<string, number>()
  let running = 0

  const count = (name: string, by: 1 | -1) => {
    const counted = (counts.get(name) ?? 0) + by
    if (counted === 0) counts.delete(name)
    else counts.set(name, counted)
  }

  /** Counts an entry, or refuses it. The narrowest limit comes first, so that whoever sends too much is told so. */
  const enter = ({ accountId, keyId, addressPrefix }: Submitter): (() => void) => {
    const counted: [Scope, string][] = [
      ['account', `account ${accountId}`],
      ['key', `key ${keyId}`],
      ['address', `address ${addressPrefix}`],
      ['total', 'total'],
    ]
    for (const [scope, name] of counted) {
      const limit = limits.inFlight[scope]
      if ((counts.get(name) ?? 0) >= limit) throw refusalOf(scope, limit)
    }
    for (const [, name] of counted) count(name, 1)
    return () => {
      for (const [, name] of counted) count(name, -1)
    }
  }

  const laneOf = (accountId: string): Lane => {
    const lane = lanes.get(accountId) ?? { accountId, waiting: new Set(), running: 0 }
    lanes.set(accountId, lane)
    return lane
  }

  const startWaiting = () => {
    while (running < limits.concurrency) {
      const lane = lanes
        .values()
        .find((each) => each.waiting.size > 0 && each.running < limits.runningPerAccount)
      const start = lane?.waiting.values().next().value
      if (lane === undefined || start === undefined) return
      // To the back: every other account that waits and has a free share comes before this one's next entry.
      lanes.delete(lane.accountId)
      lanes.set(lane.accountId, lane)
      lane.waiting.delete(start)
      lane.running += 1
      running += 1
      start()
    }
  }

  const turnOf = (lane: Lane, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', drop)
        resolve()
      }
      const drop = () => {
        lane.waiting.delete(start)
        reject(signal.reason)
      }
      signal.addEventListener('abort', drop, { once: true })
      lane.waiting.add(start)
      startWaiting()
    })

  return async (submitter, signal, work) => {
    signal.throwIfAborted()
    const leave = enter(submitter)
    const lane = laneOf(submitter.accountId)
    try {
      await turnOf(lane, signal)
      try {
        signal.throwIfAborted()
        return await work(signal)
      } finally {
        lane.running -= 1
        running -= 1
      }
    } finally {
      leave()
      if (lane.running === 0 && lane.waiting.size === 0) lanes.delete(lane.accountId)
      startWaiting()
    }
  }
}

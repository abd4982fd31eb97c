/**
 * A queue that is fair across accounts. A fixed number of entries run at once, with a limit per account, and waiting
 * accounts are served round-robin. Entries are counted per account, key and address prefix from their admission on, and
 * an entry over a limit is refused instead of queued.
 *
 * Written by hand because p-queue has abort signals but one global order (a custom queue class cannot skip an account
 * that is at its limit), and bottleneck has groups, but no shared order across them, no abort signals, and no release
 * since 2019.
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
  /** How many of them may belong to one account. */
  runningPerAccount: number
  /** How many entries may run and wait. */
  inFlight: ScopeLimits
}

type Scope = keyof ScopeLimits

/** Runs the work when its entry is scheduled. Aborting removes a waiting entry; a running one receives the signal. */
export type FairQueue = <Result>(
  submitter: Submitter,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>

interface Lane {
  accountId: string
  /** The start functions of the waiting entries, oldest first. */
  waiting: Set<() => void>
  running: number
}

/** `refusalOf` makes the error for an entry over a limit. */
export const createFairQueue = (
  limits: FairQueueLimits,
  refusalOf: (scope: Scope, limit: number) => Error,
): FairQueue => {
  /** By account, ordered by the time of the last start, oldest first. */
  const lanes = new Map<string, Lane>()
  const counts = new Map<string, number>()
  let running = 0

  const count = (name: string, by: 1 | -1) => {
    const counted = (counts.get(name) ?? 0) + by
    if (counted === 0) counts.delete(name)
    else counts.set(name, counted)
  }

  /** Counts an entry, or refuses it. The narrowest limit is checked first, so that the error names it. */
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
      // Move this account to the end, so that every other waiting account below its limit comes first.
      lanes.delete(lane.accountId)
      lanes.set(lane.accountId, lane)
      lane.waiting.delete(start)
      lane.running += 1
      running += 1
      start()
    }
  }

  const waitForSlot = (lane: Lane, signal: AbortSignal): Promise<void> =>
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
      await waitForSlot(lane, signal)
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

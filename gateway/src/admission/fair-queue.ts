/**
 * A queue that is fair across accounts. A fixed number of entries run at once, with a limit per account, and waiting
 * accounts are served round-robin. Long entries yield to short ones: they never run in all places, and start after the short
 * ones that wait, except that one of them may always run. Entries are counted per account, key and address prefix from
 * their admission on, and an entry over a limit is refused instead of queued.
 *
 * Written by hand because p-queue has abort signals but one global order (a custom queue class cannot skip an account
 * that is at its limit), and bottleneck has groups, but no shared order across them, no abort signals, and no release
 * since 2019.
 */
import type { ScopeLimits } from './admission.ts'

export interface Submitter {
  accountId: string
  keyId: string
  addressPrefix: string
}

export interface FairQueueLimits {
  /** Entries that run at once. */
  concurrency: number
  /** How many of them may belong to one account. It may depend on how many more could run. */
  runningPerAccount: number | ((free: number) => number)
  /** How many entries may run and wait. */
  inFlight: ScopeLimits
}

type Scope = keyof ScopeLimits

/** The share of the places that long entries may use. */
const longShare = 0.75

/** Runs the work when its entry is scheduled. Aborting removes a waiting entry; a running one receives the signal. */
export type FairQueue = <Result>(
  submitter: Submitter,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
  options?: EntryOptions,
) => Promise<Result>

/** A queue with the numbers of its entries. */
export interface ObservedQueue extends FairQueue {
  entries: () => { running: number; waiting: number }
}

interface EntryOptions {
  /** Whether the entry may take long. */
  isLong?: boolean
}

interface Entry {
  isLong: boolean
  start: () => void
}

interface Lane {
  accountId: string
  /** Oldest first. */
  waiting: Set<Entry>
  running: number
}

/** `refusalOf` makes the error for an entry over a limit. */
export const createFairQueue = (
  limits: FairQueueLimits,
  refusalOf: (scope: Scope, limit: number) => Error,
  onStart: (waitedMs: number) => void = () => undefined,
): ObservedQueue => {
  /** By account, ordered by the time of the last start, oldest first. */
  const lanes = new Map<string, Lane>()
  const counts = new Map<string, number>()
  const longMax = Math.max(1, Math.floor(limits.concurrency * longShare))
  let running = 0
  let longRunning = 0

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

  const { runningPerAccount } = limits
  const runningPerAccountMax = () =>
    typeof runningPerAccount === 'number'
      ? runningPerAccount
      : runningPerAccount(limits.concurrency - running)

  const findWaiting = (isLong: boolean): { lane: Lane; entry: Entry } | undefined => {
    const perAccountMax = runningPerAccountMax()
    for (const lane of lanes.values()) {
      if (lane.running >= perAccountMax) continue
      const entry = lane.waiting.values().find((each) => each.isLong === isLong)
      if (entry !== undefined) return { lane, entry }
    }
    return undefined
  }

  const findNext = () => {
    const isLastPlace = running === limits.concurrency - 1
    return (
      (isLastPlace && longRunning === 0 ? findWaiting(true) : undefined) ??
      findWaiting(false) ??
      (longRunning < longMax ? findWaiting(true) : undefined)
    )
  }

  const startWaiting = () => {
    while (running < limits.concurrency) {
      const next = findNext()
      if (next === undefined) return
      const { lane, entry } = next
      // Move this account to the end, so that every other waiting account below its limit comes first.
      lanes.delete(lane.accountId)
      lanes.set(lane.accountId, lane)
      lane.waiting.delete(entry)
      lane.running += 1
      running += 1
      if (entry.isLong) longRunning += 1
      entry.start()
    }
  }

  const waitForSlot = (lane: Lane, signal: AbortSignal, isLong: boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', drop)
        resolve()
      }
      const entry = { isLong, start }
      const drop = () => {
        lane.waiting.delete(entry)
        reject(signal.reason)
      }
      signal.addEventListener('abort', drop, { once: true })
      lane.waiting.add(entry)
      startWaiting()
    })

  const run: FairQueue = async (submitter, signal, work, { isLong = false } = {}) => {
    signal.throwIfAborted()
    const leave = enter(submitter)
    const lane = laneOf(submitter.accountId)
    const enteredMs = performance.now()
    try {
      await waitForSlot(lane, signal, isLong)
      onStart(performance.now() - enteredMs)
      try {
        signal.throwIfAborted()
        return await work(signal)
      } finally {
        lane.running -= 1
        running -= 1
        if (isLong) longRunning -= 1
      }
    } finally {
      leave()
      if (lane.running === 0 && lane.waiting.size === 0) lanes.delete(lane.accountId)
      startWaiting()
    }
  }
  const entries = () => ({
    running,
    waiting: lanes.values().reduce((sum, { waiting }) => sum + waiting.size, 0),
  })
  return Object.assign(run, { entries })
}

import { AsyncLocalStorage } from 'node:async_hooks'

import pLimit from 'p-limit'

import { measure, type LabelsOf } from './metrics/metrics.ts'
import { isDatabaseUnavailable, isLockTimeout } from './postgres-errors.ts'

type Work<Item, Result> = (items: Item[]) => Promise<PromiseSettledResult<Result>[]>

interface BatchLimits<Item> {
  /** Its name in the metrics. */
  name?: LabelsOf<'kinora.batch.size'>['batch']
  inFlightMax: number
  sizeMax: number
  /** How long the first call of a batch waits for others; for calls that nobody waits for. */
  gatherMs?: number
  /** The record that an item locks. */
  lockOf?: (item: Item) => string
}

/** A batch that takes longer waits for a lock of somebody else. */
const slowAfterMs = 50

/**
 * Combines concurrent calls into one operation, such as one commit. Without `gatherMs` a single call runs at once, and
 * calls that arrive while `inFlightMax` batches run are combined into the next one. `work` returns one result per item
 * in order; a rejected result fails its item, a thrown error fails the whole batch.
 *
 * With `lockOf` one batch runs at a time, because a second one would mostly wait for locks of the first. While a batch is
 * slow, calls for records that it has not locked are combined into others.
 */
export const batch = <Item, Result>(
  work: Work<Item, Result>,
  { name, inFlightMax, sizeMax, gatherMs = 0, lockOf }: BatchLimits<Item>,
): ((item: Item) => Promise<Result>) => {
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (reason: unknown) => void }
  let waiting: Waiting[] = []
  const locked = new Set<string>()
  let inFlight = 0
  let slow = 0
  let scheduled = false
  // A batch belongs to all its callers, so it does not run in the context of the first one.
  const inOwnContext = AsyncLocalStorage.snapshot()

  const isFree = ({ item }: Waiting) => lockOf === undefined || !locked.has(lockOf(item))
  const mayRun = () => inFlight < inFlightMax && (lockOf === undefined || inFlight === slow)

  const schedule = () => {
    if (scheduled || !mayRun() || !waiting.some(isFree)) return
    scheduled = true
    const run = () => {
      scheduled = false
      void inOwnContext(runOne)
    }
    if (gatherMs > 0 && waiting.length < sizeMax) setTimeout(run, gatherMs)
    else setImmediate(run)
  }

  const take = (): Waiting[] => {
    if (lockOf === undefined) return waiting.splice(0, sizeMax)
    const taken = new Set(waiting.filter(isFree).slice(0, sizeMax))
    waiting = waiting.filter((call) => !taken.has(call))
    return [...taken]
  }

  /** Holds the locks of a batch until the returned function is called. */
  const hold = (items: Item[]): (() => void) => {
    if (lockOf === undefined) return () => undefined
    const locks = items.map(lockOf)
    for (const lock of locks) locked.add(lock)
    let isSlow = false
    const timer = setTimeout(() => {
      isSlow = true
      slow += 1
      schedule()
    }, slowAfterMs)
    return () => {
      clearTimeout(timer)
      if (isSlow) slow -= 1
      for (const lock of locks) locked.delete(lock)
    }
  }

  const runOne = async () => {
    const calls = take()
    if (calls.length === 0) return
    const items = calls.map(({ item }) => item)
    if (name !== undefined) measure('kinora.batch.size', items.length, { batch: name })
    inFlight += 1
    const release = hold(items)
    schedule()
    try {
      const results = await work(items)
      calls.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result?.status === 'fulfilled') resolve(result.value)
        else reject(result?.reason ?? missing())
      })
    } catch (error) {
      for (const { reject } of calls) reject(error)
    } finally {
      inFlight -= 1
      release()
      schedule()
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      schedule()
    })
}

/**
 * Like `batch`, for work on records that must not be given twice: calls for the same record run one after the other. If a batch
 * fails, its items run by themselves, so that one of them does not fail the others. `work` returns results by record.
 */
export const batchByRecord = <Item, Result>(
  work: (items: Item[]) => Promise<Map<string, Result>>,
  recordOf: (item: Item) => string,
  limits: BatchLimits<Item>,
): ((item: Item) => Promise<Result | undefined>) => {
  type Settled = PromiseSettledResult<Result | undefined>
  const attempt = async (items: Map<string, Item>): Promise<Map<string, Settled>> => {
    try {
      const results = await work([...items.values()])
      return new Map([...items.keys()].map((record) => [record, fulfilled(results.get(record))]))
    } catch (error) {
      if (items.size === 1 || isDatabaseUnavailable(error))
        return new Map([...items.keys()].map((record) => [record, rejected(error)]))
      const alone = await Promise.all([...items].map((item) => attempt(new Map([item]))))
      return new Map(alone.flatMap((each) => [...each]))
    }
  }
  return batch(async (items) => {
    const results: Settled[] = []
    let waiting = [...items.entries()]
    while (waiting.length > 0) {
      // The first call for each record.
      const round = new Map(waiting.toReversed().map(([index, item]) => [recordOf(item), { index, item }]))
      const settled = await attempt(new Map([...round].map(([record, { item }]) => [record, item])))
      for (const [record, { index }] of round) results[index] = settled.get(record) ?? rejected(missing())
      waiting = waiting.filter(([index]) => results[index] === undefined)
    }
    return results
  }, limits)
}

// Locks are held for milliseconds. Whoever needs one that is held for longer shall fail soon, and not take the connections
// of other requests meanwhile.
const lockTimeoutMsMax = 1_000
const groupsAtOnce = 2
const failsFastForMs = 3_000

/**
 * Repeats a batch that has waited too long for a lock, separately for each group, so that a lock which another transaction
 * holds fails only the groups that need it. With `failsFast` those then fail at once for a while, because batches that wait
 * in vain one after the other would delay all groups.
 */
export const splitOnLockTimeout = <Item, Result>(
  work: (items: Item[], options: { lockTimeoutMsMax: number }) => Promise<PromiseSettledResult<Result>[]>,
  groupOf: (item: Item) => string,
  { failsFast = false } = {},
): Work<Item, Result> => {
  const failures = new Map<string, { untilMs: number; error: unknown }>()
  const failureOf = (group: string, nowMs: number) => {
    const failure = failures.get(group)
    if (failure === undefined || failure.untilMs > nowMs) return failure
    failures.delete(group)
    return undefined
  }
  const attempt = async (items: Item[]): Promise<PromiseSettledResult<Result>[]> => {
    try {
      return await work(items, { lockTimeoutMsMax })
    } catch (error) {
      const groups = Map.groupBy(items, groupOf)
      if (!isLockTimeout(error)) throw error
      if (groups.size === 1) {
        const untilMs = performance.now() + failsFastForMs
        if (failsFast) for (const group of groups.keys()) failures.set(group, { untilMs, error })
        throw error
      }
      const results = new Map<Item, PromiseSettledResult<Result>>()
      await pLimit(groupsAtOnce).map([...groups.values()], async (group) => {
        const settled = await attempt(group).catch((reason: unknown) => group.map(() => rejected(reason)))
        group.forEach((item, index) => results.set(item, settled[index] ?? rejected(missing())))
      })
      return items.map((item) => results.get(item) ?? rejected(missing()))
    }
  }
  return async (items) => {
    const nowMs = performance.now()
    const failed = new Map(
      items.flatMap((item): [Item, unknown][] => {
        const failure = failureOf(groupOf(item), nowMs)
        return failure === undefined ? [] : [[item, failure.error]]
      }),
    )
    if (failed.size === 0) return attempt(items)
    const remaining = items.filter((item) => !failed.has(item))
    const attempted = remaining.length === 0 ? [] : await attempt(remaining)
    const results = new Map(remaining.map((item, index) => [item, attempted[index]]))
    return items.map((item) =>
      failed.has(item) ? rejected(failed.get(item)) : (results.get(item) ?? rejected(missing())),
    )
  }
}

const missing = () => new Error('the batch returned fewer results than items')

export const fulfilled = <Value>(value: Value): PromiseFulfilledResult<Value> => ({
  status: 'fulfilled',
  value,
})
export const rejected = (reason: unknown): PromiseRejectedResult => ({ status: 'rejected', reason })

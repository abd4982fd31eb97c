/**
 * Estimates how long a new task would wait in a queue: the tasks ahead of it, divided by the rate at which tasks start.
 * The state of all queues is read in the background, at most once a second, when an estimate is requested; nothing is
 * counted for a single task.
 *
 * The rate is measured only while tasks wait, because otherwise it is the rate of arrivals. The clock are the ticks of the
 * dispatcher, so that time without an engine or a worker does not count. While the rate is unknown, the given estimate
 * is used. Without any rate, the wait is unknown.
 */
import type { Log } from '../platform/log.ts'

/** All queues at one moment. */
export interface QueueState {
  waiting: { queue: string; model: string; accountId: string; waiting: number }[]
  /** How many tasks were ever started, and when the dispatcher of the queue last ticked. */
  starts: { queue: string; model: string; starts: number; tickedAtMs: number }[]
}

/** All tasks of a queue, or only those of a model. */
interface QueuePart {
  queue: string
  model: string | undefined
}

export interface QueueWait {
  /** Undefined if it is unknown. */
  waitMs: (part: QueuePart, accountId: string, startsPerSecond: number | undefined) => number | undefined
  /** Counts a task that was just accepted, until the next reading. */
  add: (queue: string, model: string, accountId: string) => void
}

interface QueueWaitDependencies {
  read: () => Promise<QueueState>
  /** Whether tasks of this model cannot start there now although they wait. */
  isPaused: (queue: string, model: string) => boolean
  log: Log
}

const readEveryMs = 1_000
/** Reading a long queue takes time, and must not take more than this share of it. */
const readingShareMax = 0.05
const readingsUntilStale = 5
/** Within this time, older starts lose two thirds of their weight. */
const rememberedMs = 120_000
/** A longer silence of a dispatcher is an outage. */
const silenceMsMax = 60_000
const startsNeeded = 8
const secondsNeeded = 10

/**
 * How many tasks start before a new one of this account in a fair queue. While the account's own tasks start, each other
 * account starts at most as many. So an account with few tasks does not wait behind another's flood.
 */
export const tasksAhead = (waiting: ReadonlyMap<string, number>, accountId: string): number => {
  const own = waiting.get(accountId) ?? 0
  let ahead = own
  for (const [other, tasks] of waiting) if (other !== accountId) ahead += Math.min(tasks, own + 1)
  return ahead
}

/** The starts of one part of a queue while tasks waited there. Older ones have less weight. */
interface Measured {
  starts: number
  seconds: number
  lastStarts: number
  lastTickMs: number
  /** Whether tasks have waited ever since that tick. */
  isBusy: boolean
}

const perSecond = ({ starts, seconds }: Measured): number | undefined =>
  starts >= startsNeeded && seconds >= secondsNeeded ? starts / seconds : undefined

const keyOf = ({ queue, model }: QueuePart) => JSON.stringify([queue, model ?? null])

/** The part of the queue with all models, and the part of the model. */
const partsOf = (queue: string, model: string): string[] => [
  keyOf({ queue, model: undefined }),
  keyOf({ queue, model }),
]

export const createQueueWait = (
  { read, isPaused, log }: QueueWaitDependencies,
  now: () => number = () => performance.now(),
): QueueWait => {
  let waiting = new Map<string, Map<string, number>>()
  const measured = new Map<string, Measured>()
  let intervalMs = readEveryMs
  let startedAtMs = -Infinity
  let readAtMs = -Infinity
  let isReading = false

  const add = (to: typeof waiting, queue: string, model: string, accountId: string, tasks: number) => {
    for (const key of partsOf(queue, model)) {
      const accounts = to.get(key) ?? new Map<string, number>()
      to.set(key, accounts.set(accountId, (accounts.get(accountId) ?? 0) + tasks))
    }
  }

  const measure = (key: string, starts: number, tickedAtMs: number, isBusy: boolean) => {
    const last = measured.get(key)
    if (last === undefined) {
      measured.set(key, { starts: 0, seconds: 0, lastStarts: starts, lastTickMs: tickedAtMs, isBusy })
      return
    }
    const elapsedMs = tickedAtMs - last.lastTickMs
    if (elapsedMs > 0 && elapsedMs <= silenceMsMax && last.isBusy && isBusy) {
      const weight = Math.exp(-elapsedMs / rememberedMs)
      last.starts = last.starts * weight + Math.max(0, starts - last.lastStarts)
      last.seconds = last.seconds * weight + elapsedMs / 1000
    }
    last.isBusy = isBusy && (last.isBusy || elapsedMs > 0)
    if (elapsedMs > 0) Object.assign(last, { lastStarts: starts, lastTickMs: tickedAtMs })
  }

  const learn = (state: QueueState) => {
    const paused = new Set(
      state.waiting.flatMap(({ queue, model }) => (isPaused(queue, model) ? partsOf(queue, model) : [])),
    )
    const totals = new Map<string, { starts: number; tickedAtMs: number }>()
    for (const { queue, model, starts, tickedAtMs } of state.starts) {
      for (const key of partsOf(queue, model)) {
        totals.set(key, { starts: (totals.get(key)?.starts ?? 0) + starts, tickedAtMs })
      }
    }
    for (const [key, { starts, tickedAtMs }] of totals) {
      measure(key, starts, tickedAtMs, waiting.has(key) && !paused.has(key))
    }
  }

  const refresh = () => {
    if (isReading || now() - startedAtMs < intervalMs) return
    isReading = true
    startedAtMs = now()
    read()
      .then((state) => {
        waiting = new Map()
        for (const row of state.waiting) add(waiting, row.queue, row.model, row.accountId, row.waiting)
        learn(state)
        readAtMs = now()
        intervalMs = Math.max(readEveryMs, (readAtMs - startedAtMs) / readingShareMax)
      })
      .catch((error: unknown) => log.warn({ err: error }, 'queue-wait.not-read'))
      .finally(() => {
        isReading = false
      })
  }

  return {
    waitMs: (part, accountId, startsPerSecond) => {
      refresh()
      if (now() - readAtMs > readingsUntilStale * intervalMs) return undefined
      const key = keyOf(part)
      const accounts = waiting.get(key)
      if (accounts === undefined) return 0
      const known = measured.get(key)
      const rate = (known === undefined ? undefined : perSecond(known)) ?? startsPerSecond
      return rate === undefined ? undefined : (tasksAhead(accounts, accountId) / rate) * 1000
    },
    add: (queue, model, accountId) => add(waiting, queue, model, accountId, 1),
  }
}

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
import { positionIn, type OwnPlace, type Range, type Waiting, type WaitingAccount } from './queue-position.ts'

/** All queues at one moment. */
export interface QueueState {
  waiting: {
    queue: string
    model: string
    accountId: string
    /** Absent if the queue is fair across accounts only. */
    keyId?: string
    waiting: number
    /** What the tasks cost the queue together, and the most that one costs; absent if each costs the same. */
    cost?: number
    costMax?: number
  }[]
  /** How many tasks were ever started, and when the dispatcher of the queue last ticked. */
  starts: { queue: string; model: string; starts: number; tickedAtMs: number }[]
}

/** All tasks of a queue, or only those of a model. */
export interface QueuePart {
  queue: string
  model: string | undefined
}

export interface QueueWait {
  /** Undefined if it is unknown. */
  waitMs: (part: QueuePart, accountId: string, startsPerSecond: number | undefined) => number | undefined
  /** How many tasks start before a waiting one; undefined if it is unknown. */
  positionOf: (part: QueuePart, own: OwnPlace) => Range | undefined
  /** The measured rate of starts, with its uncertainty; undefined if it is unknown. */
  startsPerSecond: (part: QueuePart) => Range | undefined
  /** Counts a task that was just accepted, until the next reading. */
  add: (queue: string, model: string, accountId: string, keyId?: string, cost?: number) => void
}

interface QueueWaitDependencies {
  read: () => Promise<QueueState>
  /** Whether tasks of this model cannot start there now although they wait. */
  isPaused: (queue: string, model: string) => boolean
  log: Log
}

const readEveryMs = 1_000
/** Reading a long queue takes time, and must not take more than this share of it. */
const readingShareMax = 0.02
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
export const tasksAhead = (
  waiting: ReadonlyMap<string, Pick<Waiting, 'tasks'>>,
  accountId: string,
): number => {
  const own = waiting.get(accountId)?.tasks ?? 0
  let ahead = own
  for (const [other, { tasks }] of waiting) if (other !== accountId) ahead += Math.min(tasks, own + 1)
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

const nothing: Waiting = { tasks: 0, cost: 0, costMax: 0 }

const plus = (one: Waiting, other: Waiting): Waiting => ({
  tasks: one.tasks + other.tasks,
  cost: one.cost + other.cost,
  costMax: Math.max(one.costMax, other.costMax),
})

/** Nine of ten rates are within this factor of a rate that was measured with so many starts. */
const uncertaintyOf = ({ starts }: Measured): number => 1 + 1.645 / Math.sqrt(starts)

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
  let waiting = new Map<string, Map<string, WaitingAccount>>()
  const measured = new Map<string, Measured>()
  let intervalMs = readEveryMs
  let startedAtMs = -Infinity
  let readAtMs = -Infinity
  let isReading = false

  const add = (to: typeof waiting, row: QueueState['waiting'][number]) => {
    const { queue, model, accountId, keyId = '', waiting: tasks, cost = tasks, costMax = 1 } = row
    for (const part of partsOf(queue, model)) {
      const accounts = to.get(part) ?? new Map<string, WaitingAccount>()
      to.set(part, accounts)
      const account = accounts.get(accountId) ?? { ...nothing, keys: new Map<string, Waiting>() }
      const key = account.keys.get(keyId) ?? nothing
      account.keys.set(keyId, plus(key, { tasks, cost, costMax }))
      accounts.set(accountId, { ...plus(account, { tasks, cost, costMax }), keys: account.keys })
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
        for (const row of state.waiting) add(waiting, row)
        learn(state)
        readAtMs = now()
        intervalMs = Math.max(readEveryMs, (readAtMs - startedAtMs) / readingShareMax)
      })
      .catch((error: unknown) => log.warn({ err: error }, 'queue-wait.not-read'))
      .finally(() => {
        isReading = false
      })
  }

  const isStale = () => now() - readAtMs > readingsUntilStale * intervalMs

  return {
    waitMs: (part, accountId, startsPerSecond) => {
      refresh()
      if (isStale()) return undefined
      const key = keyOf(part)
      const accounts = waiting.get(key)
      if (accounts === undefined) return 0
      const known = measured.get(key)
      const rate = (known === undefined ? undefined : perSecond(known)) ?? startsPerSecond
      return rate === undefined ? undefined : (tasksAhead(accounts, accountId) / rate) * 1000
    },
    positionOf: (part, own) => {
      refresh()
      return isStale() ? undefined : positionIn(waiting.get(keyOf(part)) ?? new Map(), own)
    },
    startsPerSecond: (part) => {
      const known = measured.get(keyOf(part))
      const rate = known === undefined ? undefined : perSecond(known)
      if (known === undefined || rate === undefined) return undefined
      const uncertainty = uncertaintyOf(known)
      return { min: rate / uncertainty, max: rate * uncertainty }
    },
    add: (queue, model, accountId, keyId = '', cost = 1) =>
      add(waiting, { queue, model, accountId, keyId, waiting: 1, cost, costMax: cost }),
  }
}

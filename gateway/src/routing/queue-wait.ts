/**
 * Estimates how long a new task would wait in a queue: the tasks ahead of it, divided by the rate at which tasks start.
 * The state of all queues is read at most once a second, when an estimate is requested; nothing is counted for a single
 * task. Creates do not wait for the reading.
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
  /** The tasks in flight of the queues with waiting tasks; absent if they are not counted. */
  inFlight?: { queue: string; model: string; tasks: number }[]
  /** Some or all of them. */
  running?: ({ queue: string } & RunningTask)[]
}

/** A task in flight. */
interface RunningTask {
  model: string
  seconds: number
  elapsedMs: number
}

/** All tasks of a queue, or only those of a model. */
export interface QueuePart {
  queue: string
  model: string | undefined
}

export interface QueueWait {
  /** Undefined if it is unknown. */
  waitMs: (part: QueuePart, accountId: string, startsPerSecond: number | undefined) => number | undefined
  /** Reads the state of the queues, unless it was read within a second. */
  refresh: () => Promise<void>
  /** Reads the state again at the next refresh: a task has left a queue. */
  invalidate: () => void
  /** How many tasks start before a waiting one; undefined if it is unknown. */
  positionOf: (part: QueuePart, own: OwnPlace) => Range | undefined
  /** The tasks in flight, and some or all of them. */
  inFlightOf: (part: QueuePart) => { tasks: number; running: RunningTask[] }
  /** The measured rate of starts; undefined if it is unknown. */
  startsPerSecond: (part: QueuePart) => number | undefined
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
  let reading: Promise<void> | undefined
  let inFlight: Required<Pick<QueueState, 'inFlight' | 'running'>> = { inFlight: [], running: [] }

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

  const readState = async () => {
    const beganMs = now()
    startedAtMs = beganMs
    try {
      const state = await read()
      waiting = new Map()
      for (const row of state.waiting) add(waiting, row)
      learn(state)
      inFlight = { inFlight: state.inFlight ?? [], running: state.running ?? [] }
      readAtMs = now()
      intervalMs = Math.max(readEveryMs, (readAtMs - beganMs) / readingShareMax)
    } catch (error) {
      log.warn({ err: error }, 'queue-wait.not-read')
    }
  }

  const refresh = async () => {
    await reading
    // The reading may have begun before the last change.
    if (now() - startedAtMs < intervalMs) return
    reading ??= readState().finally(() => {
      reading = undefined
    })
    await reading
  }

  const isStale = () => now() - readAtMs > readingsUntilStale * intervalMs

  return {
    refresh,
    invalidate: () => {
      startedAtMs = -Infinity
    },
    waitMs: (part, accountId, startsPerSecond) => {
      void refresh()
      if (isStale()) return undefined
      const key = keyOf(part)
      const accounts = waiting.get(key)
      if (accounts === undefined) return 0
      const known = measured.get(key)
      const rate = (known === undefined ? undefined : perSecond(known)) ?? startsPerSecond
      return rate === undefined ? undefined : (tasksAhead(accounts, accountId) / rate) * 1000
    },
    positionOf: (part, own) =>
      isStale() ? undefined : positionIn(waiting.get(keyOf(part)) ?? new Map(), own),
    inFlightOf: ({ queue, model }) => {
      const isOfPart = (each: { queue: string; model: string }) =>
        each.queue === queue && (model === undefined || each.model === model)
      const sinceMs = now() - readAtMs
      return {
        tasks: inFlight.inFlight.filter(isOfPart).reduce((sum, { tasks }) => sum + tasks, 0),
        running: inFlight.running
          .filter(isOfPart)
          .map((each) => ({ ...each, elapsedMs: each.elapsedMs + sinceMs })),
      }
    },
    startsPerSecond: (part) => {
      const known = measured.get(keyOf(part))
      return known === undefined ? undefined : perSecond(known)
    },
    add: (queue, model, accountId, keyId = '', cost = 1) =>
      add(waiting, { queue, model, accountId, keyId, waiting: 1, cost, costMax: cost }),
  }
}

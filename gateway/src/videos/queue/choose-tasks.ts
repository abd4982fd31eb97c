/** The order of a queue, computed from the heads of its keys. The rule is in docs/decisions/0015-fair-queue.md. */
import type { Run } from '../../platform/engine/run-key.ts'

export interface Queue {
  provider: string
  /** Tasks that may be in flight at this provider. */
  slots: number
  /** Tasks that may be in flight at all other providers together. */
  slotsElsewhere: number
  /** Tasks of a model that may start now, for models with fewer than the provider's slots. */
  capacityOf: Map<string, number>
  /** The provider may get no new work now. Tasks whose job it may have already start nevertheless. */
  isStopped: boolean
}

/** A waiting task that may start. */
export interface Head extends Run {
  model: string
  /** Microseconds. */
  acceptedAt: number
  /** Seconds of video; 0 if the task was counted before. */
  cost: number
}

/** A key with waiting tasks. */
export interface WaitingKey {
  accountId: string
  keyId: string
  /** The account's tasks in flight at this provider. */
  here: number
  /** The account also has tasks in flight at other providers. */
  isElsewhere: boolean
  /** How many tasks the account and the key may start, over all providers; null for no limit. */
  capacity: number | null
  keyCapacity: number | null
  /** The earliest virtual start of the account's next task, and of the key's within its account. */
  clock: number
  keyClock: number
  /** Its first tasks that may start, in order, at most `readMax`. */
  heads: Head[]
  readMax: number
}

export interface Choice extends Run {
  model: string
  accountId: string
  keyId: string
  /** Virtual start and finish time, on the clock of the accounts and on that of the account's keys. */
  virtualStart: number
  virtualFinish: number
  keyVirtualStart: number
  keyVirtualFinish: number
  /** Concurrent starts at other providers could exceed a concurrency limit of its account or key. */
  isNearCap: boolean
}

/** A head at its places. Without a head, it stands for all tasks of the key behind those that were read. */
interface Candidate {
  key: WaitingKey
  head: Head | undefined
  /** Of the head, or of the one before. */
  acceptedAt: number
  taskId: string
  cost: number
  keyPlace: number
  keyVirtualStart: number
  /** In its account. */
  place: number
  virtualStart: number
}

/** What starts at other providers can take from the limits of an account; nothing if the account is locked. */
export type ReserveOf = (accountId: string) => number

/** How many more tasks may start by both limits and by the free slots. */
export const startsMaxOf = (
  { accountId, capacity, keyCapacity }: WaitingKey,
  free: number,
  reserveOf: ReserveOf,
) => {
  const within = Math.min(capacity ?? Infinity, keyCapacity ?? Infinity) - reserveOf(accountId)
  return Math.max(0, Math.min(free, within))
}

/** How many tasks of a key are candidates. Of a model with limited capacity, only as many as could start, and one more. */
const candidatesMaxOf = (startsMax: number, capacityOf: Queue['capacityOf']): number =>
  capacityOf
    .values()
    .reduce((sum, capacity) => sum + (capacity > 0 ? Math.min(startsMax, capacity + 1) : 0), startsMax)

const compareArrival = (one: Candidate, other: Candidate): number =>
  one.acceptedAt - other.acceptedAt || (one.taskId < other.taskId ? -1 : Number(one.taskId > other.taskId))

/** Adds the candidates of a key, in order of arrival. Each starts at the virtual finish of the one before. */
const addCandidates = (candidates: Candidate[], key: WaitingKey, candidatesMax: number): void => {
  let keyVirtualStart = key.keyClock
  const count = Math.min(key.heads.length, candidatesMax)
  const add = (head: Head | undefined, { acceptedAt, taskId }: Head, cost: number, keyPlace: number) => {
    const placed = { keyPlace, keyVirtualStart, place: 0, virtualStart: 0 }
    candidates.push({ key, head, acceptedAt, taskId, cost, ...placed })
    keyVirtualStart += cost
  }
  for (const [index, head] of key.heads.slice(0, count).entries()) add(head, head, head.cost, index + 1)
  const last = key.heads[count - 1]
  const mayHaveMore = count < candidatesMax && count >= key.readMax
  // Where the first of the unread tasks starts is known, and it has arrived after the last one that was read.
  if (mayHaveMore && last !== undefined) add(undefined, last, 0, count + 1)
}

/** Gives the account's turns to the candidates of its keys. */
const placeInAccount = (candidates: Candidate[]): Candidate[] => {
  candidates.sort((one, other) => one.keyVirtualStart - other.keyVirtualStart || compareArrival(one, other))
  let virtualStart = candidates[0]?.key.clock ?? 0
  for (const [index, candidate] of candidates.entries()) {
    candidate.place = index + 1
    candidate.virtualStart = virtualStart
    virtualStart += candidate.cost
  }
  return candidates
}

const choiceOf = (
  { key, keyPlace, keyVirtualStart, place, virtualStart }: Candidate,
  { taskId, run, model, cost }: Head,
  slotsElsewhere: number,
): Choice => ({
  ...{ taskId, run, model, accountId: key.accountId, keyId: key.keyId },
  ...{ virtualStart, virtualFinish: virtualStart + cost },
  ...{ keyVirtualStart, keyVirtualFinish: keyVirtualStart + cost },
  isNearCap:
    place > (key.capacity ?? Infinity) - slotsElsewhere ||
    keyPlace > (key.keyCapacity ?? Infinity) - slotsElsewhere,
})

/**
 * Chooses the tasks with the earliest virtual starts. `unread` are the keys of which more heads must be read, because tasks
 * behind them may be among those; the choices are right if there are none.
 */
export const chooseTasks = (
  keys: WaitingKey[],
  { slotsElsewhere, capacityOf }: Queue,
  free: number,
  reserveOf: ReserveOf,
): { choices: Choice[]; unread: WaitingKey[] } => {
  const placed: Candidate[] = []
  for (const ofAccount of Map.groupBy(keys, ({ accountId }) => accountId).values()) {
    const candidates: Candidate[] = []
    for (const key of ofAccount)
      addCandidates(candidates, key, candidatesMaxOf(startsMaxOf(key, free, reserveOf), capacityOf))
    for (const candidate of placeInAccount(candidates)) {
      const { key, head, place, keyPlace } = candidate
      const reserve = reserveOf(key.accountId)
      // Tasks over the limit of their key do not start, but count in their account.
      const isWithinKey = head === undefined || keyPlace <= (key.keyCapacity ?? Infinity) - reserve
      if (place <= (key.capacity ?? Infinity) - reserve && isWithinKey) placed.push(candidate)
    }
  }
  placed.sort(
    (one, other) =>
      one.virtualStart - other.virtualStart ||
      one.key.here + one.place - (other.key.here + other.place) ||
      compareArrival(one, other),
  )
  const choices: Choice[] = []
  const unread: WaitingKey[] = []
  for (const each of placed) {
    if (choices.length >= free) break
    if (each.head === undefined) unread.push(each.key)
    else choices.push(choiceOf(each, each.head, slotsElsewhere))
  }
  return { choices, unread }
}

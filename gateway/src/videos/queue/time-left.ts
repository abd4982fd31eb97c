/** How long a task still takes, as a range that nine of ten tasks keep, from the durations of earlier ones. */
import type { Range } from '../../routing/queue-position.ts'
import { quantilesAfter, type DurationHistogram } from '../polling/duration-histogram.ts'

const shares = { min: 0.05, max: 0.95 }

/** Whole seconds, rounded so that the range does not shrink. */
const inSeconds = ({ min, max }: Range): Range => ({
  min: Math.max(0, Math.floor(min / 1000)),
  max: Math.ceil(max / 1000),
})

/** Undefined if the task has run longer than almost all others: earlier ones say nothing about it. */
export const timeLeftOfRunning = (durations: DurationHistogram, elapsedMs: number): Range | undefined => {
  const elapsed = Math.max(0, elapsedMs)
  const quantile = quantilesAfter(durations, elapsed)
  if (quantile === undefined) return undefined
  return inSeconds({ min: quantile(shares.min) - elapsed, max: quantile(shares.max) - elapsed })
}

/** A task in flight, which occupies a slot until it ends. */
interface RunningTask {
  durations: DurationHistogram
  elapsedMs: number
}

interface WaitingTask {
  /** Of tasks like this one. */
  durations: DurationHistogram
  /** Of the tasks in front of it. */
  durationsAhead: DurationHistogram
  /** The tasks that start before it. */
  position: Range
  /** Tasks that may be in flight at once. */
  slots: number
  /** Tasks in flight, and some or all of them. */
  inFlight: { tasks: number; known: RunningTask[] }
}

/** More slots than this are simulated as this many, with as many times fewer tasks. */
const lanesMax = 32
/** Tasks further ahead are not simulated, because their differences even out: they take the mean time. */
const startsMax = 200
const trials = (starts: number) => (starts > 40 ? 40 : 160)

/** A reproducible sequence of numbers between 0 and 1, so that the estimate of an unchanged queue does not change. */
const createRandom = () => {
  let state = 1
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return (state + 0.5) / 2 ** 32
  }
}

/** Sampling from a table is faster than from a histogram. */
const tableSize = 64
const tabulate = (quantile: (share: number) => number): Float64Array =>
  Float64Array.from({ length: tableSize }, (_, index) => quantile((index + 0.5) / tableSize))
const tabulateRest = ({ durations, elapsedMs }: RunningTask): Float64Array => {
  // One that has run longer than almost all others may end at any time.
  const quantile = quantilesAfter(durations, elapsedMs) ?? ((share: number) => elapsedMs * (1 + share))
  return tabulate((share) => quantile(share) - elapsedMs)
}
const tabulateWhole = (durations: DurationHistogram) => tabulateRest({ durations, elapsedMs: 0 })

/** The place of the slot that is free first. */
const firstFree = (freeAtMs: Float64Array): number => {
  let first = 0
  for (let lane = 1; lane < freeAtMs.length; lane += 1) {
    if (freeAtMs[lane]! < freeAtMs[first]!) first = lane
  }
  return first
}

/**
 * The time until a waiting task has started and is done. The slots are simulated several times with durations drawn from
 * those of earlier tasks: the tasks in flight end, the tasks in front start and end, then this one does.
 */
export const timeLeftOfWaiting = (task: WaitingTask): Range => {
  const { position, slots, inFlight } = task
  const lanes = Math.min(slots, lanesMax)
  const perLane = slots / lanes
  const random = createRandom()
  const sample = (table: Float64Array) => table[Math.floor(random() * tableSize)] ?? 0
  const [own, ahead] = [tabulateWhole(task.durations), tabulateWhole(task.durationsAhead)]
  const known = inFlight.known.slice(0, lanes).map(tabulateRest)
  const busy = Math.min(lanes, Math.ceil(inFlight.tasks / perLane))
  const meanAheadMs = ahead.reduce((sum, ms) => sum + ms, 0) / tableSize
  const count = trials(position.max / perLane)
  const freeAtMs = new Float64Array(lanes)
  const totals = Float64Array.from({ length: count }, (_, trial) => {
    // Tasks in flight that are not known are as far as one that has just been started, on average half done.
    for (let lane = 0; lane < lanes; lane += 1) {
      const rest = known[lane]
      freeAtMs[lane] = lane >= busy ? 0 : rest === undefined ? random() * sample(ahead) : sample(rest)
    }
    // Every place within the range of positions is as likely as another.
    const place = position.min + ((trial + 0.5) / count) * (position.max - position.min)
    const starts = Math.round(place / perLane)
    for (let start = 0; start < Math.min(starts, startsMax); start += 1) {
      freeAtMs[firstFree(freeAtMs)]! += sample(ahead)
    }
    const restMs = (Math.max(0, starts - startsMax) * meanAheadMs) / lanes
    return freeAtMs[firstFree(freeAtMs)]! + restMs + sample(own)
  }).toSorted()
  const quantile = (share: number) => totals[Math.min(count - 1, Math.floor(share * count))] ?? 0
  return inSeconds({ min: quantile(shares.min), max: quantile(shares.max) })
}

/**
 * Spreads the starts of one address over ticks of the event loop. Accepting a connection or checking a request (rate
 * limit, key, solvency) takes up to a millisecond of CPU time, so a burst of hundreds from one address would block
 * everything else for hundreds of milliseconds. Each address gets a few starts per tick and a limit on running checks; the
 * rest of its burst waits.
 *
 * That alone would still let one address use all of the CPU time. So while the event loop is busy and other addresses send
 * requests as well, an address gets one start in a few milliseconds.
 */

interface Lane {
  running: number
  /** The tick and the time of the last start, and the starts in that tick. */
  lastTick: number
  lastStartMs: number
  startsInTick: number
  waiting: Waiting[]
}

interface Waiting {
  /** Called when this one may start, with the function that ends it. */
  start: (end: () => void) => void
  /** Whether nobody waits for it any more; then it does not start. */
  isGone?: () => boolean
}

/** The starts of an address in different scopes do not wait for each other. */
export type PacedStarts = (addressPrefix: string, waiting: Waiting, scope?: string) => void

/** A start costs up to two milliseconds, so one address uses at most a part of a core. */
const busyIntervalMs = 5
const busyUtilization = 0.6
const sampleMs = 50
/** Other addresses count for this time after a start. */
const othersMs = 1_000

/** Returns a function that tells whether the event loop has been busy lately. */
const createBusyMeter = () => {
  let last = performance.eventLoopUtilization()
  let lastMs = performance.now()
  let isBusy = false
  return (nowMs: number): boolean => {
    if (nowMs - lastMs < sampleMs) return isBusy
    const current = performance.eventLoopUtilization()
    isBusy = performance.eventLoopUtilization(current, last).utilization > busyUtilization
    last = current
    lastMs = nowMs
    return isBusy
  }
}

export const createPacedStarts = (
  { runningMax, perTick }: { runningMax: number; perTick: number },
  isBusy = createBusyMeter(),
): PacedStarts => {
  const lanes = new Map<string, Lane>()
  let tick = 0
  let isScheduled = false
  let lastAddress = ''
  let othersUntilMs = -Infinity

  const intervalMs = (nowMs: number) => (nowMs < othersUntilMs && isBusy(nowMs) ? busyIntervalMs : 0)
  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    if (intervalMs(performance.now()) === 0) setImmediate(onTick)
    else setTimeout(onTick, busyIntervalMs)
  }
  const canStart = ({ running, lastTick, lastStartMs, startsInTick }: Lane, nowMs: number) => {
    if (running >= runningMax) return false
    const interval = intervalMs(nowMs)
    if (lastTick === tick) return interval === 0 && startsInTick < perTick
    // A timer of whole milliseconds may be up to one early.
    return nowMs - lastStartMs > interval - 1
  }
  const startNow = (lane: Lane, { start }: Waiting, nowMs: number) => {
    lane.running += 1
    lane.startsInTick = lane.lastTick === tick ? lane.startsInTick + 1 : 1
    lane.lastTick = tick
    lane.lastStartMs = nowMs
    schedule()
    let isOver = false
    start(() => {
      if (isOver) return
      isOver = true
      lane.running -= 1
      schedule()
    })
  }
  const nextOf = (lane: Lane, nowMs: number): Waiting | undefined => {
    while (lane.waiting[0]?.isGone?.() === true) lane.waiting.shift()
    return canStart(lane, nowMs) ? lane.waiting.shift() : undefined
  }
  const onTick = () => {
    isScheduled = false
    tick += 1
    const nowMs = performance.now()
    for (const [key, lane] of lanes) {
      let hasStarted = false
      for (let next = nextOf(lane, nowMs); next !== undefined; next = nextOf(lane, nowMs)) {
        startNow(lane, next, nowMs)
        hasStarted = true
      }
      if (hasStarted) continue
      if (lane.waiting.length > 0 && lane.running < runningMax) schedule()
      else if (lane.running > 0) continue
      // The time of the last start is remembered for as long as it counts.
      else if (nowMs - lane.lastStartMs < intervalMs(nowMs)) schedule()
      else lanes.delete(key)
    }
  }

  return (addressPrefix, waiting, scope = '') => {
    const nowMs = performance.now()
    if (addressPrefix !== lastAddress) {
      if (lastAddress !== '') othersUntilMs = nowMs + othersMs
      lastAddress = addressPrefix
    }
    const key = `${scope} ${addressPrefix}`
    const lane = lanes.get(key) ?? {
      ...{ running: 0, lastTick: -1, lastStartMs: -Infinity, startsInTick: 0 },
      waiting: [],
    }
    lanes.set(key, lane)
    if (lane.waiting.length === 0 && canStart(lane, nowMs)) startNow(lane, waiting, nowMs)
    else {
      lane.waiting.push(waiting)
      schedule()
    }
  }
}

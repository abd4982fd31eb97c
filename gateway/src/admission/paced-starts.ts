/**
 * Spreads the starts of one address over ticks of the event loop. Accepting a connection or checking a request (rate
 * limit, key, solvency) takes about a millisecond of CPU time, so a burst of hundreds from one address would block
 * everything else for hundreds of milliseconds. Each address gets one start per tick and a limit on running checks; the
 * rest of its burst waits.
 */
interface Lane {
  running: number
  /** The tick of the last start. */
  lastTick: number
  waiting: Start[]
}

/** Called when this one may start, with the function that ends it. */
type Start = (end: () => void) => void

export type PacedStarts = (addressPrefix: string, start: Start) => void

export const createPacedStarts = (runningMax: number): PacedStarts => {
  const lanes = new Map<string, Lane>()
  let tick = 0
  let isScheduled = false

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(onTick)
  }
  const canStart = (lane: Lane) => lane.running < runningMax && lane.lastTick !== tick
  const startNow = (lane: Lane, start: Start) => {
    lane.running += 1
    lane.lastTick = tick
    schedule()
    let isOver = false
    start(() => {
      if (isOver) return
      isOver = true
      lane.running -= 1
      schedule()
    })
  }
  const onTick = () => {
    isScheduled = false
    tick += 1
    for (const [address, lane] of lanes) {
      const start = canStart(lane) ? lane.waiting.shift() : undefined
      if (start !== undefined) startNow(lane, start)
      else if (lane.running === 0) lanes.delete(address)
    }
  }

  return (addressPrefix, start) => {
    const lane = lanes.get(addressPrefix) ?? { running: 0, lastTick: -1, waiting: [] }
    lanes.set(addressPrefix, lane)
    if (lane.waiting.length === 0 && canStart(lane)) startNow(lane, start)
    else lane.waiting.push(start)
  }
}

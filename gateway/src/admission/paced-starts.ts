/**
 * Spreads what one address starts over turns of the event loop. Beginning a connection or checking a request (counting
 * it, looking its key up, asking whether its account can pay) takes about a millisecond of processor time. A burst of
 * hundreds from one address would be a turn of hundreds of milliseconds, in which nobody else is served. Here each
 * address has one start per turn and only so many running at once; the rest of its burst waits.
 */
interface Lane {
  running: number
  /** The turn in which the last one started. */
  turn: number
  waiting: Start[]
}

/** Is called when it is this one's turn, with how to say that it is over. */
type Start = (end: () => void) => void

export type PacedStarts = (addressPrefix: string, start: Start) => void

export const createPacedStarts = (runningMax: number): PacedStarts => {
  const lanes = new Map<string, Lane>()
  let turn = 0
  let isScheduled = false

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(yieldToEventLoop)
  }
  const canStart = (lane: Lane) => lane.running < runningMax && lane.turn !== turn
  const startNow = (lane: Lane, start: Start) => {
    lane.running += 1
    lane.turn = turn
    schedule()
    let isOver = false
    start(() => {
      if (isOver) return
      isOver = true
      lane.running -= 1
      schedule()
    })
  }
  const yieldToEventLoop = () => {
    isScheduled = false
    turn += 1
    for (const [address, lane] of lanes) {
      const start = canStart(lane) ? lane.waiting.shift() : undefined
      if (start !== undefined) startNow(lane, start)
      else if (lane.running === 0) lanes.delete(address)
    }
  }

  return (addressPrefix, start) => {
    const lane = lanes.get(addressPrefix) ?? { running: 0, turn: -1, waiting: [] }
    lanes.set(addressPrefix, lane)
    if (lane.waiting.length === 0 && canStart(lane)) startNow(lane, start)
    else lane.waiting.push(start)
  }
}

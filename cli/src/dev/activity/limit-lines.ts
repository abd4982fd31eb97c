/**
 * Bounds how many lines are shown. Of lines with the same key, some are shown at once and the others are counted. While
 * there are too many, the counts come in ever longer windows.
 */
export interface LimitedLine {
  key: string
  /** The rate of this line. */
  rate: LineRate
}

export interface LineRate {
  /** This many are shown in a window; the others are counted. */
  burst: number
  windowMs: number
}

export interface HeldLines<Line> {
  /** The last of them. */
  line: Line
  count: number
  seconds: number
  /** Lines with other keys are counted too. */
  isMixed?: true
}

const windowMsMax = 30_000
/** Over all keys. */
const shownPerSecondMax = 20
const countsMax = 5

interface Window<Line> {
  startedAt: number
  lengthMs: number
  left: number
  held: number
  line: Line
}

export interface LineLimit<Line> {
  /** Whether to show this line now. */
  accept: (line: Line, nowMs: number) => boolean
  /** The counts whose window has ended. */
  takeHeld: (nowMs: number) => HeldLines<Line>[]
}

/** Many different lines are one count. */
const mergeHeld = <Line>(held: HeldLines<Line>[]): HeldLines<Line>[] => {
  if (held.length <= countsMax) return held
  const byCount = held.toSorted((one, other) => other.count - one.count)
  const rest = byCount.slice(countsMax - 1)
  const [first] = rest
  if (first === undefined) return held
  const count = rest.reduce((sum, each) => sum + each.count, 0)
  const seconds = Math.max(...rest.map((each) => each.seconds))
  return [...byCount.slice(0, countsMax - 1), { line: first.line, count, seconds, isMixed: true }]
}

export const createLineLimit = <Line extends LimitedLine>(): LineLimit<Line> => {
  const windows = new Map<string, Window<Line>>()
  let second = 0
  let shown = 0

  const mayShow = (nowMs: number) => {
    if (Math.floor(nowMs / 1000) !== second) {
      second = Math.floor(nowMs / 1000)
      shown = 0
    }
    return shown < shownPerSecondMax
  }
  return {
    accept(line, nowMs) {
      const { burst, windowMs } = line.rate
      let window = windows.get(line.key)
      if (window === undefined || (window.held === 0 && nowMs >= window.startedAt + window.lengthMs)) {
        window = { startedAt: nowMs, lengthMs: windowMs, left: burst, held: 0, line }
        windows.set(line.key, window)
      }
      window.line = line
      if (window.left > 0 && mayShow(nowMs)) {
        window.left -= 1
        shown += 1
        return true
      }
      window.held += 1
      return false
    },
    takeHeld(nowMs) {
      const taken: HeldLines<Line>[] = []
      for (const [key, window] of windows) {
        const elapsedMs = nowMs - window.startedAt
        if (elapsedMs < window.lengthMs) continue
        if (window.held === 0) {
          windows.delete(key)
          continue
        }
        taken.push({ line: window.line, count: window.held, seconds: Math.round(elapsedMs / 1000) })
        const lengthMs = Math.min(Math.max(windowMsMax, window.lengthMs), window.lengthMs * 2)
        windows.set(key, { ...window, startedAt: nowMs, lengthMs, left: 0, held: 0 })
      }
      return mergeHeld(taken)
    },
  }
}

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
}

const windowMsMax = 30_000
/** Over all keys. */
const shownPerSecondMax = 20

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
      return taken
    },
  }
}

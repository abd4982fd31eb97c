/** Where values are in a chart of durations. */
const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** Steps of the axis that people can add up. */
const steps = [
  ...[100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second],
  ...[minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 6 * hour],
]
const linesMax = 4

/** The values of the horizontal lines, from 0 on. The greatest value is at or below the last line. */
export const findTicks = (greatest: number): number[] => {
  const step =
    steps.find((each) => greatest <= each * linesMax) ?? Math.ceil(greatest / linesMax / hour) * hour
  const count = Math.max(1, Math.ceil(greatest / step))
  return Array.from({ length: count + 1 }, (_, index) => index * step)
}

interface Step {
  p50_ms: number | null
  p95_ms: number | null
}

export interface DrawnStep {
  index: number
  median: number
  high: number
}

/** Neighbours that have values. Between two runs, the line has a gap. */
export const findRuns = (series: Step[]): DrawnStep[][] => {
  const runs: DrawnStep[][] = []
  for (const [index, { p50_ms: median, p95_ms: high }] of series.entries()) {
    if (median === null) continue
    const drawn = { index, median, high: Math.max(median, high ?? median) }
    const last = runs.at(-1)
    if (last?.at(-1)?.index === index - 1) last.push(drawn)
    else runs.push([drawn])
  }
  return runs
}

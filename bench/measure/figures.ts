/** Measured values by name. */
export type Figures = Record<string, number>

export const minus = (after: Figures, before: Figures): Figures =>
  Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]))

export const per = (figures: Figures, count: number): Figures =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, value / count]))

export const total = (figures: Figures): number =>
  Object.values(figures).reduce((sum, value) => sum + value, 0)

export const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export interface Spread {
  median: number
  min: number
  max: number
}

export const spreadOf = (values: number[]): Spread => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
})

/** The confidence of the interval of a median is at least one minus twice this. */
const tail = 0.025

/** The median with an interval of 95 % confidence in place of its extremes, from the order of the values alone. */
export const medianInterval = (values: number[]): Spread => {
  const sorted = values.toSorted((a, b) => a - b)
  // Each value is above the true median with a probability of a half.
  let probability = 0.5 ** sorted.length
  let below = probability
  let outside = 0
  while (below <= tail && outside < sorted.length / 2) {
    outside += 1
    probability *= (sorted.length - outside + 1) / outside
    below += probability
  }
  const at = Math.max(0, outside - 1)
  return { median: median(values), min: sorted[at] ?? Number.NaN, max: sorted.at(-1 - at) ?? Number.NaN }
}

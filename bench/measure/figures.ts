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

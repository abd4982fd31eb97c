/** Calendar periods of budgets, in UTC. A week begins on Monday. */
export const periods = ['hour', 'day', 'week', 'month'] as const
export type Period = (typeof periods)[number]

const hourMs = 3_600_000
const dayMs = 86_400_000
// The first Monday after the Unix epoch, which was a Thursday.
const mondayMs = 4 * dayMs

export const startOf = (period: Period, atMs: number): number => {
  const at = new Date(atMs)
  if (period === 'hour') return Math.floor(atMs / hourMs) * hourMs
  if (period === 'day') return Math.floor(atMs / dayMs) * dayMs
  if (period === 'week') return Math.floor((atMs - mondayMs) / (7 * dayMs)) * 7 * dayMs + mondayMs
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

/** The end of the period that contains `atMs`. */
export const endOf = (period: Period, atMs: number): number => {
  const start = startOf(period, atMs)
  if (period === 'hour') return start + hourMs
  if (period === 'day') return start + dayMs
  if (period === 'week') return start + 7 * dayMs
  const at = new Date(start)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
}

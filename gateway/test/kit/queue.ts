import type { Database, Postgres } from '../../src/platform/postgres.ts'
import { retakeLost } from '../../src/videos/open-task-store.ts'
import { lineDefaults, type LineLimits } from '../../src/videos/queue/queue-limits.ts'
import { enterLine, nextStartInMs, takeAccepted, type Line } from '../../src/videos/queue/queue-store.ts'

const manyStarts = 10_000

/** What a dispatcher's turn reads and writes, without an engine: answers the tasks it would start. */
export const turnOf = async (
  database: Database,
  line: Partial<Line> = {},
  limits: Partial<LineLimits> = {},
  atMost = manyStarts,
) => {
  const whole = { provider: 'vendor', slots: manyStarts, slotsElsewhere: 0, roomOf: new Map(), ...line }
  await enterLine(database, whole.provider)
  await retakeLost(database, whole.provider, atMost, 60_000)
  const taken = await takeAccepted(database, whole, atMost, { ...lineDefaults, ...limits })
  await nextStartInMs(database, whole.provider)
  return taken
}

export const takeTurn = (
  postgres: Postgres,
  line: Partial<Line> = {},
  limits: Partial<LineLimits> = {},
  atMost = manyStarts,
) => postgres.transaction((database) => turnOf(database, line, limits, atMost))

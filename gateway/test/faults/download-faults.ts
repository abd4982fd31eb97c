/** Some results of a vendor that are sent slowly or broken off, while it sends the others well. */
import { setTimeout as sleep } from 'node:timers/promises'

import type { Fault, FaultScene } from './run-fault.ts'

const vendor = 'repeatable'
/** One byte per second, twice; then it is sent well. */
const slow = 'vendor:fault=drip@downloadx2'
const cut = 'vendor:cut-media=4'

interface Measured {
  perSecond: number
  medianMs: number
}

/** The other results of the vendor that were completed in the time before now. */
const measureOthers = async ({ stack, client }: FaultScene, overMs: number): Promise<Measured> => {
  const [row] = await stack.postgres.query<{ count: number; medianMs: number | null }>(
    `select count(*)::int as count,
            percentile_cont(0.5) within group (order by extract(epoch from finished_at - created_at)::float8 * 1000) as "medianMs"
       from video_tasks
      where provider = $1 and account_id = any($2) and state = 'completed'
        and video_order ->> 'prompt' not like '%vendor:%' and finished_at > now() - make_interval(secs => $3)`,
    [vendor, client.accountIds, overMs / 1_000],
  )
  return { perSecond: (row?.count ?? 0) / (overMs / 1_000), medianMs: row?.medianMs ?? Infinity }
}

/** Long enough that the number of creates in it hardly varies. */
const windowMs = 20_000
const windows = 2

/** Reports the worst rate of the windows, and the median time over all of them. */
const mix =
  (results: { count: number; directives: string }[], settleMs: number): Fault['run'] =>
  async (scene) => {
    await sleep(windowMs)
    const before = await measureOthers(scene, windowMs)
    for (const { count, directives } of results) scene.client.burst(count, vendor, directives)
    await sleep(settleMs)
    const rates: number[] = []
    for (let window = 0; window < windows; window += 1) {
      await sleep(windowMs)
      rates.push((await measureOthers(scene, windowMs)).perSecond)
    }
    const { medianMs } = await measureOthers(scene, windows * windowMs)
    scene.report('other results per second', Math.min(...rates) / before.perSecond)
    // At most twice the time.
    scene.report('speed of other results', before.medianMs / medianMs, 0.5)
  }

/** The slow ones are sent well at their third try, after two that take half a minute each. */
const recoveredWithinMs = 180_000

export const downloadFaults = {
  'slow and cut results': {
    models: [vendor],
    recoveredWithinMs,
    isLong: true,
    run: mix(
      [
        { count: 3, directives: slow },
        { count: 3, directives: cut },
      ],
      0,
    ),
  },
  // More than there are permits. Until they turn out to be slow, they use all of them, and the others catch up afterwards.
  'many slow results': {
    models: [vendor],
    recoveredWithinMs,
    isLong: true,
    run: mix([{ count: 120, directives: slow }], 60_000),
  },
} satisfies Record<string, Fault>

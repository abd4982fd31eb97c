/**
 * Removes files that a process of this machine left in the spool. Every process does so, because no other machine can, and
 * marks its own files as used, so that those of a process that has died are gone within an hour.
 */
import type { Log } from '../platform/log.ts'
import type { Spool } from './port/spool.ts'

const everyMs = 10 * 60_000
/** A process that stands still for longer loses its files, and repeats what it did with them. */
const abandonedAfterMs = 45 * 60_000

/** Marks the files of this process, and removes those that nobody marks. Returns how many were removed. */
export const sweepSpool = async (spool: Spool, now = new Date()): Promise<number> => {
  await spool.markUsed(now)
  let removed = 0
  for await (const { path, usedAt } of spool.list()) {
    if (usedAt.getTime() > now.getTime() - abandonedAfterMs) continue
    await spool.remove(path)
    removed += 1
  }
  return removed
}

/** Also sweeps at the start, because a process that died is often replaced. */
export const startSpoolSweep = (spool: Spool, log: Log): { stop: () => void } => {
  const run = () => {
    sweepSpool(spool).then(
      (removed) => removed > 0 && log.info({ removed }, 'spool.swept'),
      (error: unknown) => log.warn({ err: error }, 'spool.sweep-failed'),
    )
  }
  run()
  const timer = setInterval(run, everyMs)
  return { stop: () => clearInterval(timer) }
}

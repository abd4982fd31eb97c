/**
 * The tick of a dispatcher, which starts accepted tasks.
 *
 * Why durable: only one dispatcher may count the running tasks of a queue, and it must survive the loss of a worker. As a loop
 * of the engine it needs no lease and no leader election, and the runs that it claims are started by durable sends. The engine
 * may execute a tick twice: then it starts what it has claimed before, and claims nothing more.
 */
import type { EngineLoop } from '../platform/engine/anti-entropy.ts'
import type { Ticked } from '../platform/engine/loop.ts'
import type { Run } from '../platform/engine/run-key.ts'
import { recordTick } from '../platform/engine/tick-store.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import { findClaimed, nextStartInMs } from './queue-store.ts'
import type { TaskTables } from './task.ts'

export interface Dispatcher extends EngineLoop {
  tables: TaskTables
  /** The service of the runs. */
  service: string
}

export interface Claim {
  runs: Run[]
  /** When to tick again, even if no task that waits in the queue is due. */
  tickInMs?: number
  /** Called after the commit. */
  afterCommit?: () => void
}

/** Without work a dispatcher ticks this often, in case a wake-up was lost. */
export const idleMs = 15_000
export const soonMs = 50

/** What a tick claims, in its transaction; if it is executed again, what it has claimed before. */
export const claimOnce = async (
  database: Database,
  { loop, key, tables }: Omit<Dispatcher, 'service'>,
  tickId: string,
  claim: (database: Database) => Promise<Claim>,
): Promise<Claim & { nextStartMs?: number | undefined }> => {
  if (!(await recordTick(database, loop, key, tickId)))
    return { runs: await findClaimed(database, tables, key, tickId), tickInMs: soonMs }
  return { ...(await claim(database)), nextStartMs: await nextStartInMs(database, tables, key) }
}

export const dispatchTasks = async (
  postgres: Postgres,
  dispatcher: Dispatcher,
  tickId: string,
  claim: (database: Database) => Promise<Claim>,
): Promise<Ticked> => {
  const claimed = await postgres.transaction((database) => claimOnce(database, dispatcher, tickId, claim))
  const { runs, tickInMs = idleMs, nextStartMs = idleMs, afterCommit } = claimed
  afterCommit?.()
  return {
    nextMs: Math.min(tickInMs, Math.max(soonMs, Math.ceil(nextStartMs))),
    starts: runs.map(({ taskId, run }) => ({ service: dispatcher.service, run: { taskId, run } })),
  }
}

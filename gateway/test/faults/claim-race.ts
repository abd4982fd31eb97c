import type { VendorName } from './fault-stack.ts'
import { until, type Part } from './part.ts'
import type { FaultScene } from './run-fault.ts'

const provider: VendorName = 'repeatable'
const tasks = 30

/**
 * A worker stands still in the middle of a dispatcher's transaction, and goes on after the other one has executed the
 * same tick and completed its tasks.
 */
export const pauseWorkerInClaim = async ({ stack, client }: FaultScene): Promise<void> => {
  const { postgres, workers } = stack
  const holding = await postgres.connect()
  await holding.query(`select pg_advisory_lock(hashtextextended('kinora:queue:' || $1, 0))`, [provider])
  const before = client.creates.length
  client.burst(tasks, provider)
  const creates = client.creates.slice(before)
  let held: Part | undefined
  await until('a claim is held', async () => {
    const rows = await postgres.query<{ name: string }>(
      `select application_name as name from pg_stat_activity a join pg_locks l on l.pid = a.pid
        where l.locktype = 'advisory' and not l.granted and (l.classid::bigint << 32) + l.objid::bigint
              = hashtextextended('kinora:queue:' || $1, 0)`,
      [provider],
    )
    held = workers.find(({ name }) => rows.some((row) => row.name === name))
    return held !== undefined
  })
  held?.pause()
  // The server now gives the lock to the worker that stands still.
  await holding.end()
  await until('the other worker has completed the tasks', async () => {
    if (creates.some(({ isSettled }) => !isSettled)) return false
    const taskIds = creates.flatMap(({ taskId }) => taskId ?? [])
    const open = await postgres.query('select from open_tasks where task_id = any($1) limit 1', [taskIds])
    return open.length === 0
  })
  held?.resume()
}

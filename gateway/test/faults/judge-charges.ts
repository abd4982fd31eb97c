/** Compares the ledger with the tasks and the requests of the customers. */
import { brokenInvariants } from '../kit/ledger.ts'
import type { Client } from './client.ts'
import type { WatchedStack } from './fault-stack.ts'
import { until } from './part.ts'
import type { Task } from './read-tasks.ts'

const settledWithinMs = 5_000
const releasedWithinMs = 30_000

const isPaidOnce = (task: Task) =>
  task.holds === 1 &&
  task.captures === (task.state === 'completed' ? 1 : 0) &&
  task.releases === (task.state === 'failed' ? 1 : 0)

const isOver = ({ state }: Task) => state === 'completed' || state === 'failed'

export const findWronglyCharged = async (stack: WatchedStack, client: Client, tasks: Task[]) => {
  const charged = await stack.postgres.query<{ accountId: string; count: number }>(
    `select account_id as "accountId", count(*)::int as count from metered_requests
      where account_id = any($1) and captured_micros > 0 group by account_id`,
    [client.accountIds],
  )
  return [
    ...tasks.flatMap((task) =>
      isOver(task) && !isPaidOnce(task)
        ? `${task.id}, ${task.state}: ${task.holds} holds, ${task.captures} captures, ${task.releases} releases`
        : [],
    ),
    ...[...Map.groupBy(tasks, ({ prompt }) => prompt)].flatMap(([prompt, { length }]) =>
      length > 1 ? `"${prompt}" has ${length} tasks` : [],
    ),
    ...charged.flatMap(({ accountId, count }) => {
      const made = client.audio.requestsOf.get(accountId) ?? 0
      return count > made ? `${accountId} made ${made} audio requests and paid for ${count}` : []
    }),
    ...(await stack.withDatabase(brokenInvariants)),
  ]
}

/** The requests that are neither charged nor released, and the balances with a hold although no task is open. */
export const findHolds = ({ postgres }: WatchedStack, { accountIds }: Client) =>
  postgres.query<{ text: string }>(
    `select concat_ws(' ', id, operation, 'is open') as text from metered_requests
      where account_id = any($1) and outcome = 'open'
     union all
     select concat_ws(' ', b.account_id, 'has', held_micros, 'held and no open task') from balances b
      where b.account_id = any($1) and held_micros <> 0
        and not exists (select from open_tasks o where o.account_id = b.account_id)`,
    [accountIds],
  )

/**
 * Releases the holds of requests whose process died, as happens when their lease has expired, five minutes later. The
 * leases end now instead, and a worker that starts releases them.
 */
export const releaseHolds = async (stack: WatchedStack, client: Client): Promise<void> => {
  const isNoneLeft = (withinMs: number) =>
    until('no hold is left', async () => (await findHolds(stack, client)).length === 0, { withinMs }).then(
      () => true,
      () => false,
    )
  if (await isNoneLeft(settledWithinMs)) return
  await stack.postgres.query(
    `update metered_requests set lease_expires_at = now() where account_id = any($1) and outcome = 'open'`,
    [client.accountIds],
  )
  const [worker] = stack.workers
  await worker.kill('SIGTERM')
  await worker.start()
  await isNoneLeft(releasedWithinMs)
}

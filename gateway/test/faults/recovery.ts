/** Measures how fast the service recovers after a fault. */
import type { Client } from './client.ts'
import type { WatchedStack } from './fault-stack.ts'

/** The rate of completions is measured over this time. */
export const windowMs = 3_000
/** The service has recovered when it completes tasks at this share of the earlier rate. */
const shareMin = 0.8

/**
 * Whether every create that began before this time is answered, and its task has ended. Tasks whose submit has an unknown
 * outcome, and is looked up for two minutes, can be left out.
 */
export const haveEnded = async (
  { postgres }: WatchedStack,
  { creates, accountIds }: Client,
  beforeMs: number,
  { withUnknown = true } = {},
): Promise<boolean> => {
  if (creates.some(({ startedAtMs, isSettled }) => !isSettled && startedAtMs <= beforeMs)) return false
  const rows = await postgres.query(
    `select from open_tasks
      where account_id = any($1) and accepted_at <= to_timestamp($2)
        and ($3 or outcome_unknown_since is null) limit 1`,
    [accountIds, beforeMs / 1_000, withUnknown],
  )
  return rows.length === 0
}

const countCompleted = async (
  { postgres }: WatchedStack,
  { accountIds }: Client,
  fromMs: number,
  toMs: number,
): Promise<number> => {
  const [row] = await postgres.query<{ count: number }>(
    `select count(*)::int as count from video_tasks
      where account_id = any($1) and state = 'completed'
        and finished_at > to_timestamp($2) and finished_at <= to_timestamp($3)`,
    [accountIds, fromMs / 1_000, toMs / 1_000],
  )
  return row?.count ?? 0
}

/** The tasks completed in the window before this time. */
export const countBefore = (stack: WatchedStack, client: Client, atMs: number): Promise<number> =>
  countCompleted(stack, client, atMs - windowMs, atMs)

/** Whether the rate of completions since the repair is what it was before the fault, in the window that ends now. */
export const isRateBack = async (
  stack: WatchedStack,
  client: Client,
  completedBefore: number,
  repairedAtMs: number,
): Promise<boolean> => {
  const nowMs = Date.now()
  if (nowMs - windowMs < repairedAtMs) return false
  return (await countBefore(stack, client, nowMs)) >= completedBefore * shareMin
}

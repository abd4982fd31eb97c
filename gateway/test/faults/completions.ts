import type { VendorName } from './fault-stack.ts'
import type { FaultScene } from './run-fault.ts'

/** The tasks completed per second, of one vendor or of all, over the time before now. */
export const completionsPerSecond = async (
  { stack, client }: FaultScene,
  overMs: number,
  vendor?: VendorName,
): Promise<number> => {
  const [row] = await stack.postgres.query<{ count: number }>(
    `select count(*)::int as count from video_tasks
      where ($1::text is null or provider = $1) and account_id = any($2) and state = 'completed'
        and finished_at > now() - make_interval(secs => $3)`,
    [vendor ?? null, client.accountIds, overMs / 1_000],
  )
  return (row?.count ?? 0) / (overMs / 1_000)
}

/** The tasks of a model completed per second, over the time before now. */
export const completionsOfModel = async (
  { stack, client }: FaultScene,
  overMs: number,
  model: string,
): Promise<number> => {
  const [row] = await stack.postgres.query<{ count: number }>(
    `select count(*)::int as count from video_tasks
      where model = $1 and account_id = any($2) and state = 'completed'
        and finished_at > now() - make_interval(secs => $3)`,
    [model, client.accountIds, overMs / 1_000],
  )
  return (row?.count ?? 0) / (overMs / 1_000)
}

import type { Database } from '../../platform/postgres.ts'

export interface Subscription {
  accountId: string
  planId: string | null
  planName: string | null
  cycleQuotaMicros: number | null
  cycleDays: number | null
  cycleStartedAt: Date
  cycleEndsAt: Date
  endsAt: Date
  /** The end has passed and the rest of the last cycle has expired. */
  hasEnded: boolean
}

/** Locks a subscription until the transaction ends. The caller has locked the wallet before. `nowMs` is the database's time. */
export const lockSubscription = async (
  database: Database,
  accountId: string,
): Promise<(Subscription & { nowMs: number }) | undefined> => {
  const { rows } = await database.query<Subscription & { nowMs: number } & Record<string, unknown>>(
    `select s.account_id as "accountId", s.plan_id as "planId", p.name as "planName",
            p.cycle_quota_micros as "cycleQuotaMicros", p.cycle_days as "cycleDays",
            s.cycle_started_at as "cycleStartedAt", s.cycle_ends_at as "cycleEndsAt", s.ends_at as "endsAt",
            s.has_ended as "hasEnded", extract(epoch from clock_timestamp()) * 1000 as "nowMs"
       from subscriptions s left join plans p on p.id = s.plan_id
      where s.account_id = $1 for update of s`,
    [accountId],
  )
  return rows[0]
}

export const writeSubscription = async (
  database: Database,
  subscription: Pick<
    Subscription,
    'accountId' | 'planId' | 'cycleStartedAt' | 'cycleEndsAt' | 'endsAt' | 'hasEnded'
  >,
): Promise<void> => {
  const { accountId, planId, cycleStartedAt, cycleEndsAt, endsAt, hasEnded } = subscription
  await database.query(
    `insert into subscriptions (account_id, plan_id, cycle_started_at, cycle_ends_at, ends_at, has_ended)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id) do update
       set plan_id = excluded.plan_id, cycle_started_at = excluded.cycle_started_at,
           cycle_ends_at = excluded.cycle_ends_at, ends_at = excluded.ends_at, has_ended = excluded.has_ended`,
    [accountId, planId, cycleStartedAt, cycleEndsAt, endsAt, hasEnded],
  )
}

export interface CyclePlan {
  id: string
  name: string
  cycleQuotaMicros: number
  cycleDays: number
}

export const findCyclePlan = async (database: Database, id: string): Promise<CyclePlan | undefined> => {
  const { rows } = await database.query<CyclePlan & Record<string, unknown>>(
    `select id, name, cycle_quota_micros as "cycleQuotaMicros", cycle_days as "cycleDays" from plans where id = $1`,
    [id],
  )
  return rows[0]
}

/** Accounts whose subscription must be renewed or ended, oldest first. */
export const dueSubscriptions = async (database: Database, limit: number): Promise<string[]> => {
  const { rows } = await database.query<{ accountId: string }>(
    `select account_id as "accountId" from subscriptions
      where not has_ended and least(cycle_ends_at, ends_at) <= now() and (plan_id is not null or ends_at <= now())
      order by least(cycle_ends_at, ends_at) limit $1`,
    [limit],
  )
  return rows.map(({ accountId }) => accountId)
}

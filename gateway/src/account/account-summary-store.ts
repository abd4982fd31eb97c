import type { Database } from '../platform/postgres.ts'

export interface KeySummary {
  keyName: string
  hint: string
  expiresAt: Date | null
  keyConcurrency: number | null
  accountName: string
  paymentState: string
  accountConcurrency: number | null
  availableMicros: number
  heldMicros: number
  quotaMicros: number | null
  quotaUsedMicros: number | null
  budgets: { period: string; limitMicros: number; usedMicros: number; resetsAt: number }[]
  spendCapMicros: number | null
  spentMicros: number
  spentResetsAt: Date
  cycleQuotaMicros: number | null
  cycleEndsAt: Date | null
  subscriptionEndsAt: Date | null
  inFlight: number
  waiting: number
}

/**
 * Balance, quota, budgets, and tasks in flight of one key. A budget is reset in the database only by the next hold, so a
 * budget of an earlier period is returned as unused.
 */
export const findKeySummary = async (
  database: Database,
  keyId: string,
  wallet: 'payg' | 'subscription',
): Promise<KeySummary | undefined> => {
  const { rows } = await database.query<KeySummary & Record<string, unknown>>(
    `select k.name as "keyName", k.hint, k.expires_at as "expiresAt", k.concurrency as "keyConcurrency",
            a.name as "accountName", a.payment_state as "paymentState", a.concurrency as "accountConcurrency",
            coalesce(b.available_micros, 0) as "availableMicros", coalesce(b.held_micros, 0) as "heldMicros",
            q.quota_micros as "quotaMicros", q.used_micros as "quotaUsedMicros",
            (select coalesce(jsonb_agg(jsonb_build_object('period', period, 'limitMicros', limit_micros,
                      'usedMicros', case when period_started_at >= current_start then used_micros else 0 end,
                      'resetsAt', extract(epoch from date_trunc(period, current_start + ('1 ' || period)::interval, 'utc'))::bigint)
                    order by array_position(array['hour', 'day', 'week', 'month'], period)), '[]')
               from key_budgets, date_trunc(period, now(), 'utc') current_start where key_id = k.id) as budgets,
            least(a.spend_cap_micros, g.spend_cap_micros) as "spendCapMicros",
            (select coalesce(sum(spent_micros), 0) from balances
              where account_id = a.id
                and spent_since >= date_trunc('month', now() at time zone 'utc')::date) as "spentMicros",
            (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as "spentResetsAt",
            p.cycle_quota_micros as "cycleQuotaMicros", s.cycle_ends_at as "cycleEndsAt",
            s.ends_at as "subscriptionEndsAt",
            (select count(*) from open_tasks where account_id = a.id and stage <> 'accepted') as "inFlight",
            (select count(*) from open_tasks where account_id = a.id and stage = 'accepted') as waiting
       from keys k
       join accounts a on a.id = k.account_id
       left join account_budgets g on g.account_id = a.id
       left join balances b on b.account_id = a.id and b.wallet = $2
       left join key_quotas q on q.key_id = k.id
       left join subscriptions s on s.account_id = a.id
       left join plans p on p.id = s.plan_id
      where k.id = $1`,
    [keyId, wallet],
  )
  return rows[0]
}

/** The invariants of the ledger, each as a query for its violations. */
import type { Database } from '../../platform/postgres.ts'

/** The result of one invariant: the number of violations and some examples. */
export interface Finding {
  invariant: string
  violations: number
  examples: string[]
  meaning: string
}

interface Invariant {
  name: string
  meaning: string
  /** A query that returns `example`, one row per violation. `legs` is the source of ledger entries. */
  violations: (legs: string) => string
}

/** The sums of each task's movements, by kind. */
const byTask = (legs: string) =>
  `select day, task_id, coalesce(sum(amount_micros) filter (where movement = 'hold' and book = 'held'), 0) as hold,
          coalesce(sum(amount_micros) filter (where movement = 'capture' and book = 'revenue'), 0) as capture,
          coalesce(sum(amount_micros) filter (where movement = 'release' and book = 'available'), 0) as release,
          count(*) filter (where movement = 'hold' and book = 'held') as holds,
          count(*) filter (where movement = 'capture' and book = 'revenue') as captures,
          count(*) filter (where movement = 'release' and book = 'available') as releases,
          sum(amount_micros) filter (where book = 'held') as held
     from ${legs} where task_id is not null group by day, task_id`

/** Invariants of single tasks. An incremental audit checks only tasks with new entries. */
const taskInvariants: Invariant[] = [
  {
    name: 'ledger_sum_zero',
    meaning: 'The two entries of every movement sum to zero.',
    violations: (legs) =>
      `select coalesce(task_id, account_id::text) || ' ' || movement as example from ${legs}
        group by day, account_id, task_id, movement having sum(amount_micros) <> 0`,
  },
  {
    name: 'at_most_one_capture_per_task',
    meaning: 'A task or request has at most one hold, one capture, and one release.',
    violations: (legs) =>
      `select task_id as example from (${byTask(legs)}) t where holds > 1 or captures > 1 or releases > 1`,
  },
  {
    name: 'capture_at_most_hold',
    meaning: 'The capture and the release of a hold together never exceed the hold.',
    violations: (legs) => `select task_id as example from (${byTask(legs)}) t where capture + release > hold`,
  },
  {
    name: 'no_hold_on_finished',
    meaning: 'A finished task or request holds no money.',
    violations: (legs) =>
      `select t.task_id as example from (${byTask(legs)}) t
        where t.held <> 0
          and (exists (select from video_tasks v where v.day = t.day and v.id = t.task_id and v.finished_at is not null)
            or exists (select from metered_requests m where m.day = t.day and m.id = t.task_id and m.outcome <> 'open')
            or exists (select from transcription_tasks s
                        where s.day = t.day and s.id = t.task_id and s.finished_at is not null))`,
  },
  {
    name: 'record_matches_ledger',
    meaning: 'The hold and the capture recorded on a task or request match the ledger.',
    violations: (legs) =>
      `select t.task_id as example from (${byTask(legs)}) t
         join lateral (
           select hold_micros, captured_micros from video_tasks where day = t.day and id = t.task_id
           union all
           select hold_micros, captured_micros from metered_requests where day = t.day and id = t.task_id
           union all
           select hold_micros, captured_micros from transcription_tasks where day = t.day and id = t.task_id) r on true
        where r.hold_micros <> t.hold or coalesce(r.captured_micros, 0) <> t.capture`,
  },
  {
    name: 'refunds_name_tasks',
    meaning: 'Every refund in the ledger names the task or request that it returns money of.',
    violations: (legs) =>
      `select entry.task_id as example from (select * from ${legs}) entry
        where entry.movement = 'refund' and entry.book = 'available'
          and not exists (select from refunds r where r.id = entry.task_id and r.day = entry.day)`,
  },
]

/** Invariants of the current state, which is small. */
const stateInvariants: Invariant[] = [
  {
    name: 'no_negative_balance',
    meaning: 'No wallet has a negative available or held amount.',
    violations: () =>
      `select account_id || ' ' || wallet as example from balances where available_micros < 0 or held_micros < 0`,
  },
  {
    name: 'held_equals_open_holds',
    meaning: 'The held amount of a wallet is the sum of the holds of its open tasks and requests.',
    violations: () =>
      `select b.account_id || ' ' || b.wallet as example
         from balances b
         left join (select account_id, wallet, sum(hold_micros) as open
                      from (select t.account_id, t.wallet, t.hold_micros
                              from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
                            union all
                            select t.account_id, t.wallet, t.hold_micros
                              from open_transcriptions o
                              join transcription_tasks t on t.day = o.day and t.id = o.task_id
                            union all
                            select account_id, wallet, hold_micros from metered_requests where outcome = 'open') o
                     group by account_id, wallet) o on o.account_id = b.account_id and o.wallet = b.wallet
        where b.held_micros <> coalesce(o.open, 0)`,
  },
]

/** The net amount of each hold of a key, without what was refunded, with the time of the hold. */
export const keyUses = `select hold.day, hold.account_id, hold.wallet, hold.key_id, hold.created_at as at,
                     hold.amount_micros - coalesce(release.amount_micros, 0) - coalesce(refund.amount_micros, 0) as amount
                from ledger_entries hold
                left join ledger_entries release
                  on release.day = hold.day and release.task_id = hold.task_id
                 and release.movement = 'release' and release.book = 'available'
                left join (select r.task_id, r.task_day, sum(m.amount_micros) as amount_micros
                             from refunds r join account_movements m on m.id = r.id
                            group by r.task_id, r.task_day) refund
                  on refund.task_day = hold.day and refund.task_id = hold.task_id
               where hold.movement = 'hold' and hold.book = 'held' and hold.key_id is not null`

/** The day before which the ledger is archived. A period that began on it may have holds of a task of the day before. */
const archivedBefore = `(select coalesce(max(before), '-infinity') from ledger_archives)`

/** Invariants over the whole history of a key or an account. */
const historyInvariants: Invariant[] = [
  {
    name: 'key_usage_matches',
    meaning: "The used amount of a key's quota is the sum of its holds and captures.",
    violations: () =>
      `select q.key_id::text as example
         from key_quotas q
         left join (${keyUses}) u on u.key_id = q.key_id and u.at >= q.counted_from
         left join opening_key_usage o on o.key_id = q.key_id and o.counted_from = q.counted_from
        where q.counted_from > 'epoch'
        group by q.key_id, q.used_micros, o.used_micros
       having q.used_micros <> coalesce(sum(u.amount), 0) + coalesce(o.used_micros, 0)`,
  },
  {
    name: 'budget_usage_matches',
    meaning: 'The used amount of each key budget is the sum of the holds and captures in its last period.',
    violations: () =>
      `select b.key_id || ' ' || b.period as example
         from key_budgets b
         left join (${keyUses}) u on u.key_id = b.key_id and u.at >= b.counted_from
              and date_trunc(b.period, u.at, 'UTC') = b.period_started_at
        where b.period_started_at > ${archivedBefore}
        group by b.key_id, b.period, b.used_micros having b.used_micros <> coalesce(sum(u.amount), 0)`,
  },
  {
    name: 'monthly_spending_matches',
    meaning: 'The monthly spending of a wallet is the sum of the holds of that month minus their releases.',
    violations: () =>
      `select b.account_id || ' ' || b.wallet as example
         from balances b
         left join (${keyUses}) u on u.account_id = b.account_id and u.wallet = b.wallet
              and date_trunc('month', u.at at time zone 'utc')::date = b.spent_since
        where b.spent_since > ${archivedBefore}
        group by b.account_id, b.wallet, b.spent_micros having b.spent_micros <> coalesce(sum(u.amount), 0)`,
  },
  {
    name: 'movements_match_ledger',
    meaning: 'Every top-up, grant, adjustment, expiry, and refund is in the ledger with its amount.',
    violations: () =>
      `select m.id as example
         from account_movements m
         left join ledger_entries l
           on l.task_id = m.id and l.movement = m.kind and l.book = 'available' and l.account_id = m.account_id
          and l.wallet = m.wallet
        where l.amount_micros is distinct from m.amount_micros`,
  },
  {
    name: 'openings_match_archives',
    meaning: 'The opening balances sum up to the entries that were archived.',
    violations: () =>
      `select 'opening balances' as example
         from (select coalesce(sum(available_micros), 0) as available, coalesce(sum(held_micros), 0) as held from opening_balances) o,
              (select coalesce(sum(available_micros), 0) as available, coalesce(sum(held_micros), 0) as held from ledger_archives) a
        where (o.available, o.held) <> (a.available, a.held)`,
  },
]

/** Invariants of refunds, each as a query over `refunds`. An incremental audit checks only tasks with new refunds. */
const refundInvariants: Invariant[] = [
  {
    name: 'refunds_at_most_capture',
    meaning:
      'The refunds of a task or request go to the wallet that paid for it, and never exceed its capture in total.',
    violations: (refunds) =>
      `select r.task_id as example
         from ${refunds} r
         join account_movements m on m.id = r.id
         left join ledger_entries capture
           on capture.day = r.task_day and capture.task_id = r.task_id and capture.movement = 'capture'
          and capture.book = 'revenue' and capture.account_id = m.account_id and capture.wallet = m.wallet
        where r.task_day >= ${archivedBefore}
        group by r.task_day, r.task_id
       having sum(m.amount_micros) > coalesce(min(capture.amount_micros), 0) or count(capture.id) < count(*)
           or min(m.amount_micros) <= 0`,
  },
]

const examplesMax = 10

/** Runs a query for violations. */
const check = async (
  database: Database,
  { name, meaning }: Pick<Invariant, 'name' | 'meaning'>,
  violations: string,
  { before = '', values }: { before?: string; values?: unknown[] } = {},
): Promise<Finding> => {
  const { rows } = await database.query<{ violations: number; examples: string[] | null }>(
    `with ${before} violation as materialized (${violations})
     select count(*) as violations,
            (select array_agg(example order by example) from (select example from violation limit ${examplesMax}) e) as examples
       from violation`,
    values,
  )
  return { invariant: name, violations: rows[0]?.violations ?? 0, examples: rows[0]?.examples ?? [], meaning }
}

const balancesMatchLegs = {
  name: 'balances_match_legs',
  meaning: 'Every balance is the sum of its entries.',
}

/** Compares every balance with its opening balance and the sum of its entries, and stores the sums as checkpoints. */
const compareAllBalances = (database: Database): Promise<Finding> =>
  check(
    database,
    balancesMatchLegs,
    `select coalesce(b.account_id, s.account_id) || ' ' || coalesce(b.wallet, s.wallet) as example
       from balances b full join sums s on s.account_id = b.account_id and s.wallet = b.wallet
      where coalesce(b.available_micros, 0) <> coalesce(s.available, 0)
         or coalesce(b.held_micros, 0) <> coalesce(s.held, 0)`,
    {
      before: `sums as (
       select account_id, wallet, max(entry_id) as entry_id, sum(available) as available, sum(held) as held
         from (select account_id, wallet, max(id) as entry_id,
                      coalesce(sum(amount_micros) filter (where book = 'available'), 0) as available,
                      coalesce(sum(amount_micros) filter (where book = 'held'), 0) as held
                 from ledger_entries group by account_id, wallet
               union all
               select account_id, wallet, entry_id, available_micros, held_micros from opening_balances) part
        group by account_id, wallet
     ), stored as (
       insert into ledger_checkpoints (account_id, wallet, entry_id, available_micros, held_micros)
       select account_id, wallet, entry_id, available, held from sums
       on conflict (account_id, wallet) do update
         set entry_id = excluded.entry_id, available_micros = excluded.available_micros,
             held_micros = excluded.held_micros
     ),`,
    },
  )

/** The same from the checkpoints and the later entries. The ids of a wallet's entries are in commit order. */
const compareBalancesSinceCheckpoint = (database: Database, since: Date): Promise<Finding> =>
  check(
    database,
    balancesMatchLegs,
    `select b.account_id || ' ' || b.wallet as example
       from balances b
       left join ledger_checkpoints p on p.account_id = b.account_id and p.wallet = b.wallet
       left join newer n on n.account_id = b.account_id and n.wallet = b.wallet
      where b.available_micros <> coalesce(p.available_micros, 0) + coalesce(n.available, 0)
         or b.held_micros <> coalesce(p.held_micros, 0) + coalesce(n.held, 0)`,
    {
      values: [since],
      before: `newer as (
       select l.account_id, l.wallet, max(l.id) as entry_id,
              coalesce(sum(l.amount_micros) filter (where l.book = 'available'), 0) as available,
              coalesce(sum(l.amount_micros) filter (where l.book = 'held'), 0) as held
         from ledger_entries l
         left join ledger_checkpoints p on p.account_id = l.account_id and p.wallet = l.wallet
        where l.created_at >= $1 and l.id > coalesce(p.entry_id, 0)
        group by l.account_id, l.wallet
     ), stored as (
       insert into ledger_checkpoints as p (account_id, wallet, entry_id, available_micros, held_micros)
       select account_id, wallet, entry_id, available, held from newer
       on conflict (account_id, wallet) do update
         set entry_id = excluded.entry_id, available_micros = p.available_micros + excluded.available_micros,
             held_micros = p.held_micros + excluded.held_micros
     ),`,
    },
  )

/** Checks every invariant over all entries. */
export const checkAll = async (database: Database): Promise<Finding[]> => {
  const findings = [await compareAllBalances(database)]
  for (const invariant of [...taskInvariants, ...stateInvariants, ...historyInvariants]) {
    findings.push(await check(database, invariant, invariant.violations('ledger_entries')))
  }
  for (const invariant of refundInvariants) {
    findings.push(await check(database, invariant, invariant.violations('refunds')))
  }
  return findings
}

export interface IncrementalFindings {
  /** Of invariants that were checked completely. */
  complete: Finding[]
  /** Of invariants that were checked only for tasks with recent entries. */
  partial: Finding[]
}

/** Checks every balance, and the tasks with entries since the given time. */
export const checkRecent = async (database: Database, since: Date): Promise<IncrementalFindings> => {
  const complete = [await compareBalancesSinceCheckpoint(database, since)]
  const partial: Finding[] = []
  const recent = `(select l.* from ledger_entries l
                      join (select distinct day, task_id from ledger_entries where created_at >= $1) t
                        on t.day = l.day and t.task_id = l.task_id)`
  for (const invariant of taskInvariants) {
    partial.push(await check(database, invariant, invariant.violations(`${recent} l`), { values: [since] }))
  }
  const recentRefunds = `(select r.* from refunds r
                             where r.task_id in (select made.task_id from refunds made
                                                   join account_movements m on m.id = made.id
                                                  where m.created_at >= $1))`
  for (const invariant of refundInvariants) {
    partial.push(await check(database, invariant, invariant.violations(recentRefunds), { values: [since] }))
  }
  for (const invariant of stateInvariants) {
    complete.push(await check(database, invariant, invariant.violations('')))
  }
  return { complete, partial }
}

export interface StoredAudit {
  checkedAt: Date
  durationMs: number
  findings: Finding[]
  fullAuditAt: Date
  fullAuditFindings: Finding[]
}

/** The last audit, and how long ago it and the last full one were by the database's clock. */
export const readAudit = async (
  database: Database,
): Promise<(StoredAudit & { checkedAgoMs: number; fullAuditAgoMs: number }) | undefined> => {
  const { rows } = await database.query<
    StoredAudit & { checkedAgoMs: number; fullAuditAgoMs: number } & Record<string, unknown>
  >(
    `select checked_at as "checkedAt", duration_ms as "durationMs", findings, full_audit_at as "fullAuditAt",
            full_audit_findings as "fullAuditFindings", extract(epoch from now() - checked_at) * 1000 as "checkedAgoMs",
            extract(epoch from now() - full_audit_at) * 1000 as "fullAuditAgoMs" from ledger_audits`,
  )
  return rows[0]
}

export const writeAudit = async (database: Database, audit: StoredAudit): Promise<void> => {
  const { checkedAt, durationMs, findings, fullAuditAt, fullAuditFindings } = audit
  await database.query(
    `insert into ledger_audits (checked_at, duration_ms, findings, full_audit_at, full_audit_findings)
     values ($1, $2, $3, $4, $5)
     on conflict (singleton) do update
       set checked_at = excluded.checked_at, duration_ms = excluded.duration_ms, findings = excluded.findings,
           full_audit_at = excluded.full_audit_at, full_audit_findings = excluded.full_audit_findings`,
    [checkedAt, durationMs, JSON.stringify(findings), fullAuditAt, JSON.stringify(fullAuditFindings)],
  )
}

/** Serializes audits, and returns the time of the lock, which ends with the transaction. */
export const lockAudits = async (database: Database): Promise<Date> => {
  const { rows } = await database.query<{ at: Date }>(
    `select pg_advisory_xact_lock(hashtextextended('kinora:ledger-audit', 0)), clock_timestamp() as at`,
  )
  if (rows[0] === undefined) throw new Error('the audit lock returned no row')
  return rows[0].at
}

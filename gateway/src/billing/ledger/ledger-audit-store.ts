/** What must hold of the books, each as a query for what breaks it. They read nothing but the record. */
import type { Database } from '../../platform/postgres.ts'

/** One of the rules: what was found against it, and some of the things it was found at. */
export interface Finding {
  invariant: string
  violations: number
  examples: string[]
  meaning: string
}

interface Invariant {
  name: string
  meaning: string
  /** A query for `example`, one row per violation. `legs` is where it reads the ledger. */
  breaches: (legs: string) => string
}

/** The movements of each task, added up by kind. */
const byTask = (legs: string) =>
  `select day, task_id, coalesce(sum(amount_micros) filter (where movement = 'hold' and book = 'held'), 0) as hold,
          coalesce(sum(amount_micros) filter (where movement = 'capture' and book = 'revenue'), 0) as capture,
          coalesce(sum(amount_micros) filter (where movement = 'release' and book = 'available'), 0) as release,
          count(*) filter (where movement = 'hold' and book = 'held') as holds,
          count(*) filter (where movement = 'capture' and book = 'revenue') as captures,
          count(*) filter (where movement = 'release' and book = 'available') as releases,
          sum(amount_micros) filter (where book = 'held') as held
     from ${legs} where task_id is not null group by day, task_id`

/** Those that can be told from a task's own legs, so that after a full audit only touched tasks need another look. */
const ofTasks: Invariant[] = [
  {
    name: 'ledger_sum_zero',
    meaning: 'The legs of every movement sum to zero: money is moved, never made.',
    breaches: (legs) =>
      `select coalesce(task_id, account_id::text) || ' ' || movement as example from ${legs}
        group by day, account_id, task_id, movement having sum(amount_micros) <> 0`,
  },
  {
    name: 'at_most_one_capture_per_task',
    meaning: 'A task or request is held for, captured and released at most once each.',
    breaches: (legs) =>
      `select task_id as example from (${byTask(legs)}) t where holds > 1 or captures > 1 or releases > 1`,
  },
  {
    name: 'capture_at_most_hold',
    meaning: 'What is captured and released of a hold is never more than the hold.',
    breaches: (legs) => `select task_id as example from (${byTask(legs)}) t where capture + release > hold`,
  },
  {
    name: 'no_hold_on_finished',
    meaning: 'A task or request that has ended holds no money.',
    breaches: (legs) =>
      `select t.task_id as example from (${byTask(legs)}) t
        where t.held <> 0
          and (exists (select from video_tasks v where v.day = t.day and v.id = t.task_id and v.finished_at is not null)
            or exists (select from metered_requests m where m.day = t.day and m.id = t.task_id and m.outcome <> 'open')
            or exists (select from transcription_tasks s
                        where s.day = t.day and s.id = t.task_id and s.finished_at is not null))`,
  },
  {
    name: 'record_matches_ledger',
    meaning: 'What a task or request says it held and cost is what the ledger says.',
    breaches: (legs) =>
      `select t.task_id as example from (${byTask(legs)}) t
         join lateral (
           select hold_micros, captured_micros from video_tasks where day = t.day and id = t.task_id
           union all
           select hold_micros, captured_micros from metered_requests where day = t.day and id = t.task_id
           union all
           select hold_micros, captured_micros from transcription_tasks where day = t.day and id = t.task_id) r on true
        where r.hold_micros <> t.hold or coalesce(r.captured_micros, 0) <> t.capture`,
  },
]

/** Those that are about the state of things now, which is small. */
const ofNow: Invariant[] = [
  {
    name: 'no_negative_balance',
    meaning: 'No wallet has less than nothing, available or held.',
    breaches: () =>
      `select account_id || ' ' || wallet as example from balances where available_micros < 0 or held_micros < 0`,
  },
  {
    name: 'held_equals_open_holds',
    meaning: 'What a wallet holds is what its tasks and requests under way hold, added up.',
    breaches: () =>
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

/** What keys used, by their holds: the time of each, and what was given back of it. */
const uses = `select hold.account_id, hold.wallet, hold.key_id, hold.created_at as at,
                     hold.amount_micros - coalesce(release.amount_micros, 0) as amount
                from ledger_entries hold
                left join ledger_entries release
                  on release.day = hold.day and release.task_id = hold.task_id
                 and release.movement = 'release' and release.book = 'available'
               where hold.movement = 'hold' and hold.book = 'held' and hold.key_id is not null`

/** Those that need all of a key's or an account's history. */
const ofHistory: Invariant[] = [
  {
    name: 'key_usage_matches',
    meaning: "What a key's quota says was used is what the key holds and has captured.",
    breaches: () =>
      `select q.key_id::text as example
         from key_quotas q
         left join (${uses}) u on u.key_id = q.key_id and u.at >= q.counted_from
        where q.counted_from > 'epoch'
        group by q.key_id, q.used_micros having q.used_micros <> coalesce(sum(u.amount), 0)`,
  },
  {
    name: 'budget_usage_matches',
    meaning: "The same for each of a key's budgets, in the period it was last used in.",
    breaches: () =>
      `select b.key_id || ' ' || b.period as example
         from key_budgets b
         left join (${uses}) u on u.key_id = b.key_id and u.at >= b.counted_from
              and date_trunc(b.period, u.at, 'UTC') = b.period_started_at
        group by b.key_id, b.period, b.used_micros having b.used_micros <> coalesce(sum(u.amount), 0)`,
  },
  {
    name: 'monthly_spending_matches',
    meaning: 'What a wallet says was spent of its month is what was held then and not given back.',
    breaches: () =>
      `select b.account_id || ' ' || b.wallet as example
         from balances b
         left join (${uses}) u on u.account_id = b.account_id and u.wallet = b.wallet
              and date_trunc('month', u.at at time zone 'utc')::date = b.spent_since
        group by b.account_id, b.wallet, b.spent_micros having b.spent_micros <> coalesce(sum(u.amount), 0)`,
  },
  {
    name: 'movements_match_ledger',
    meaning: 'Every top-up, grant, adjustment and expiry stands in the ledger with its amount.',
    breaches: () =>
      `select m.id as example
         from account_movements m
         left join ledger_entries l
           on l.task_id = m.id and l.movement = m.kind and l.book = 'available' and l.account_id = m.account_id
          and l.wallet = m.wallet
        where l.amount_micros is distinct from m.amount_micros`,
  },
]

const examplesMax = 10

/** Runs a query for breaches and tells what it found, with some examples. */
const look = async (
  database: Database,
  { name, meaning }: Pick<Invariant, 'name' | 'meaning'>,
  breaches: string,
  { before = '', values }: { before?: string; values?: unknown[] } = {},
): Promise<Finding> => {
  const { rows } = await database.query<{ violations: number; examples: string[] | null }>(
    `with ${before} breach as materialized (${breaches})
     select count(*) as violations,
            (select array_agg(example order by example) from (select example from breach limit ${examplesMax}) e) as examples
       from breach`,
    values,
  )
  return { invariant: name, violations: rows[0]?.violations ?? 0, examples: rows[0]?.examples ?? [], meaning }
}

const balancesMatchLegs = {
  name: 'balances_match_legs',
  meaning: 'Every balance is the sum of its legs.',
}

/** Compares every balance with its legs, and notes what they came to for the audits until the next full one. */
const compareAllBalances = (database: Database): Promise<Finding> =>
  look(
    database,
    balancesMatchLegs,
    `select coalesce(b.account_id, s.account_id) || ' ' || coalesce(b.wallet, s.wallet) as example
       from balances b full join sums s on s.account_id = b.account_id and s.wallet = b.wallet
      where coalesce(b.available_micros, 0) <> coalesce(s.available, 0)
         or coalesce(b.held_micros, 0) <> coalesce(s.held, 0)`,
    {
      before: `sums as (
       select account_id, wallet, max(id) as entry_id,
              coalesce(sum(amount_micros) filter (where book = 'available'), 0) as available,
              coalesce(sum(amount_micros) filter (where book = 'held'), 0) as held
         from ledger_entries group by account_id, wallet
     ), noted as (
       insert into ledger_checkpoints (account_id, wallet, entry_id, available_micros, held_micros)
       select account_id, wallet, entry_id, available, held from sums
       on conflict (account_id, wallet) do update
         set entry_id = excluded.entry_id, available_micros = excluded.available_micros,
             held_micros = excluded.held_micros
     ),`,
    },
  )

/** The same by what was noted and the legs since: those of a wallet come in the order of their ids. */
const compareNotedBalances = (database: Database, since: Date): Promise<Finding> =>
  look(
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
     ), noted as (
       insert into ledger_checkpoints as p (account_id, wallet, entry_id, available_micros, held_micros)
       select account_id, wallet, entry_id, available, held from newer
       on conflict (account_id, wallet) do update
         set entry_id = excluded.entry_id, available_micros = p.available_micros + excluded.available_micros,
             held_micros = p.held_micros + excluded.held_micros
     ),`,
    },
  )

/** Looks at all of it. */
export const findAll = async (database: Database): Promise<Finding[]> => {
  const findings = [await compareAllBalances(database)]
  for (const invariant of [...ofTasks, ...ofNow, ...ofHistory]) {
    findings.push(await look(database, invariant, invariant.breaches('ledger_entries')))
  }
  return findings
}

/** Looks at every balance, which is all there is to say of those, and at the tasks that have had a leg since. */
export const findRecent = async (
  database: Database,
  since: Date,
): Promise<{ whole: Finding[]; ofTouched: Finding[] }> => {
  const whole = [await compareNotedBalances(database, since)]
  const ofTouched: Finding[] = []
  const touched = `(select l.* from ledger_entries l
                      join (select distinct day, task_id from ledger_entries where created_at >= $1) t
                        on t.day = l.day and t.task_id = l.task_id)`
  for (const invariant of ofTasks) {
    ofTouched.push(await look(database, invariant, invariant.breaches(`${touched} l`), { values: [since] }))
  }
  for (const invariant of ofNow) whole.push(await look(database, invariant, invariant.breaches('')))
  return { whole, ofTouched }
}

/** What an audit found and when; what the last one of everything found stands until the next. */
export interface StoredAudit {
  checkedAt: Date
  durationMs: number
  findings: Finding[]
  fullAuditAt: Date
  fullAuditFindings: Finding[]
}

export const readAudit = async (database: Database): Promise<StoredAudit | undefined> => {
  const { rows } = await database.query<StoredAudit & Record<string, unknown>>(
    `select checked_at as "checkedAt", duration_ms as "durationMs", findings, full_audit_at as "fullAuditAt",
            full_audit_findings as "fullAuditFindings" from ledger_audits`,
  )
  return rows[0]
}

export const writeAudit = async (database: Database, audit: StoredAudit): Promise<void> => {
  const { checkedAt, durationMs, findings, fullAuditAt, fullAuditFindings } = audit
  await database.query(
    `insert into ledger_audits (checked_at, duration_ms, findings, full_audit_at, full_audit_findings) values ($1, $2, $3, $4, $5)
     on conflict (singleton) do update
       set checked_at = excluded.checked_at, duration_ms = excluded.duration_ms, findings = excluded.findings,
           full_audit_at = excluded.full_audit_at, full_audit_findings = excluded.full_audit_findings`,
    [checkedAt, durationMs, JSON.stringify(findings), fullAuditAt, JSON.stringify(fullAuditFindings)],
  )
}

/** Waits until no other audit is under way; it is over with the transaction. */
export const lockAudits = async (database: Database): Promise<void> => {
  await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:ledger-audit', 0))`)
}

/**
 * The lines in which accepted tasks wait for a slot: whose turn it is, and how many wait. The rule is in
 * docs/decisions/0015-fair-queue.md.
 */
import type { Database } from '../../platform/postgres.ts'
import type { Decision } from '../../routing/route.ts'
import type { Start } from '../open-task-store.ts'
import type { VideoOrder } from '../task.ts'
import type { QueueLimits } from './queue-limits.ts'

// The line's statements are to walk their indexes in order, by one plan for good: a line grows faster than statistics
// do, and a plan made for a short one would read a long one whole. A sort that cannot be avoided then looks so dear that
// the database would compile the statement.
const plainPlans = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
}

// A worker that stands still in the middle of a turn is put out, so that another can have it.
const patience = { idle_in_transaction_session_timeout: '5s' }

/**
 * Makes this transaction the only one that hands over tasks of a provider. The engine runs one turn at a time, but a
 * worker it took for dead may still be at its own.
 */
export const lockQueue = async (database: Database, provider: string): Promise<void> => {
  const settings = Object.entries({ ...plainPlans, ...patience })
  await database.query(
    `select pg_advisory_xact_lock(hashtextextended('kinora:queue:' || $1, 0)),
            (select count(set_config(name, value, true)) from unnest($2::text[], $3::text[]) as s (name, value))`,
    [provider, settings.map(([name]) => name), settings.map(([, value]) => value)],
  )
}

/** Makes this transaction the only one that counts what these accounts have in flight. */
const lockAccounts = async (database: Database, accountIds: string[]): Promise<void> => {
  await database.query(
    `select pg_advisory_xact_lock(hashtextextended('kinora:queue-of-account:' || id, 0))
       from (select id from unnest($1::text[]) as id order by id) accounts`,
    [accountIds],
  )
}

export interface Queue {
  provider: string
  /** Tasks that may be in flight there. */
  slots: number
  /** Tasks that may be in flight at all other providers together. */
  slotsElsewhere: number
  /** Tasks of a model that may be started now, where that is fewer than there are slots. */
  capacityOf: Map<string, number>
}

interface Choice extends Start {
  model: string
  accountId: string
  keyId: string
  /** The start on the clock of the accounts, and on that of the account's keys. */
  virtualStart: number
  virtualFinish: number
  keyVirtualStart: number
  keyVirtualFinish: number
  /** What other providers start meanwhile could take it over a cap. */
  isNearCap: boolean
}

interface Chosen {
  choices: Choice[]
  /** Somebody waits although there is a slot, for tasks of theirs at other providers to end. */
  isThrottled: boolean
}

/**
 * Chooses the tasks to start. It leaps from one waiting key to the next, reads of each no more tasks than there are
 * free slots, lays them out on the clocks, and takes those that begin first. Of a model with room for few it reads no more
 * than one above that, so that those behind it are not kept waiting. With `locked` given, every other account
 * stays so far below its caps that nothing another provider starts can take it over them.
 */
const choose = async (
  database: Database,
  { provider, slots, slotsElsewhere, capacityOf }: Queue,
  limit: number,
  { concurrencyPerAccount, concurrencyPerKey }: QueueLimits,
  locked: string[] | undefined,
): Promise<Chosen> => {
  const { rows } = await database.query<Chosen & Record<string, unknown>>(
    `with recursive in_flight as materialized (
       select provider, account_id, key_id, count(*) as tasks from open_tasks
        where stage <> 'accepted' group by provider, account_id, key_id
     ), free as materialized (
       select greatest(0, least($3, $2 - coalesce(sum(tasks), 0)))::integer as slots from in_flight where provider = $1
     ), waiting as (
       (select account_id, key_id from open_tasks
         where provider = $1 and stage = 'accepted' and (select slots from free) > 0
         order by account_id, key_id limit 1)
       union all
       select next.account_id, next.key_id
         from waiting
         cross join lateral (
           select o.account_id, o.key_id from open_tasks o
            where o.provider = $1 and o.stage = 'accepted'
              and (o.account_id, o.key_id) > (waiting.account_id, waiting.key_id)
            order by o.account_id, o.key_id limit 1
         ) next
     ), account as materialized (
       select w.account_id, coalesce(busy.here, 0) as here, busy.tasks > coalesce(busy.here, 0) as is_elsewhere,
              coalesce((select concurrency from accounts where id = w.account_id), $4) - coalesce(busy.tasks, 0) as room,
              case when $7::uuid[] is null or w.account_id = any ($7) then 0 else $6 end as reserve,
              greatest((select max(virtual_start) from queue_shares where queue = $1),
                       (select virtual_finish from queue_shares where queue = $1 and owner = w.account_id), 0) as clock,
              (select max(virtual_start) from queue_shares where queue = $1 || '/' || w.account_id) as keys_clock
         from (select distinct account_id from waiting) w
         left join (select account_id, sum(tasks) as tasks, sum(tasks) filter (where provider = $1) as here
                      from in_flight group by account_id) busy on busy.account_id = w.account_id
     ), key as materialized (
       select w.key_id, account.*,
              coalesce((select concurrency from keys where id = w.key_id), $5) - coalesce(busy.tasks, 0) as key_capacity,
              greatest(account.keys_clock, (select virtual_finish from queue_shares
                                             where queue = $1 || '/' || w.account_id and owner = w.key_id), 0) as key_clock
         from waiting w
         join account on account.account_id = w.account_id
         left join (select account_id, key_id, sum(tasks) as tasks from in_flight group by account_id, key_id) busy
           on busy.account_id = w.account_id and busy.key_id = w.key_id
     ), candidate as (
       select key.*, head.*, row_number() over waiting_order as key_place,
              key_clock + sum(cost) over waiting_order - cost as key_virtual_start
         from key
         cross join lateral (
           select greatest(0, least((select slots from free), room - reserve, key_capacity - reserve))::bigint as most
         ) bound
         cross join lateral (
           (select task_id, run, model, accepted_at, case when run = 0 then seconds else 0 end as cost from open_tasks o
             where o.provider = $1 and o.stage = 'accepted' and o.account_id = key.account_id and o.key_id = key.key_id
               and o.not_before <= now() and not o.model = any ($8)
             order by accepted_at, task_id limit most)
           union all
           select scarce.* from unnest($8::text[], $9::integer[]) as model (id, room)
            cross join lateral (
              select task_id, run, model, accepted_at, case when run = 0 then seconds else 0 end as cost from open_tasks o
               where o.provider = $1 and o.stage = 'accepted' and o.account_id = key.account_id and o.key_id = key.key_id
                 and o.not_before <= now() and o.model = model.id and model.room > 0
               order by accepted_at, task_id limit least(most, model.room + 1)
            ) scarce
         ) head
       window waiting_order as (partition by key.account_id, key.key_id order by accepted_at, task_id rows unbounded preceding)
     ), placed as (
       select *, row_number() over waiting_order as place, clock + sum(cost) over waiting_order - cost as virtual_start
         from candidate
       window waiting_order as (partition by account_id order by key_virtual_start, accepted_at, task_id rows unbounded preceding)
     ), chosen as (
       select * from placed
        where (room is null or place <= room - reserve) and (key_capacity is null or key_place <= key_capacity - reserve)
        order by virtual_start, here + place, accepted_at, task_id limit (select slots from free)
     )
     select coalesce((select jsonb_agg(jsonb_build_object(
              'taskId', task_id, 'run', run + 1, 'model', model, 'accountId', account_id, 'keyId', key_id,
              'virtualStart', virtual_start, 'virtualFinish', virtual_start + cost,
              'keyVirtualStart', key_virtual_start, 'keyVirtualFinish', key_virtual_start + cost,
              'isNearCap', coalesce(place > room - $6 or key_place > key_capacity - $6, false))) from chosen), '[]')
              as choices,
            exists (select from key where is_elsewhere and (room <= 0 or key_capacity <= 0)) as "isThrottled"`,
    [
      provider,
      slots,
      limit,
      concurrencyPerAccount,
      concurrencyPerKey,
      slotsElsewhere,
      locked ?? null,
      [...capacityOf.keys()],
      [...capacityOf.values()],
    ],
  )
  const { choices, isThrottled } = rows[0] ?? { choices: [], isThrottled: false }
  const within = withinCapacity(choices, capacityOf)
  return { choices: within, isThrottled: isThrottled || within.length < choices.length }
}

/** No more of each model than there is room for, the first of them. */
const withinCapacity = (choices: Choice[], capacityOf: Map<string, number>): Choice[] => {
  const left = new Map(capacityOf)
  return choices.filter(({ model }) => {
    const capacity = left.get(model)
    if (capacity !== undefined) left.set(model, capacity - 1)
    return capacity === undefined || capacity > 0
  })
}

/** Starts what was chosen, and notes how far on their clocks that takes its owners. */
const start = async (
  database: Database,
  provider: string,
  choices: Choice[],
): Promise<(Start & { model: string })[]> => {
  const { rows } = await database.query<{ taskId: string; run: number; model: string }>(
    `with started as (
       update open_tasks o set stage = 'starting', run = c.run, last_activity_at = now()
         from jsonb_to_recordset($2::jsonb) as c
           ("taskId" text, run integer, model text, "accountId" uuid, "keyId" uuid,
            "virtualStart" bigint, "virtualFinish" bigint, "keyVirtualStart" bigint, "keyVirtualFinish" bigint)
        where o.task_id = any ($3) and o.task_id = c."taskId" and o.run = c.run - 1
       returning c.*
     ), shared as (
       insert into queue_shares (queue, owner, virtual_start, virtual_finish)
       select $1, "accountId", max("virtualStart"), max("virtualFinish") from started group by "accountId"
       union all
       select $1 || '/' || "accountId", "keyId", max("keyVirtualStart"), max("keyVirtualFinish") from started
        group by "accountId", "keyId"
       on conflict (queue, owner) do update
         set virtual_start = excluded.virtual_start, virtual_finish = excluded.virtual_finish
     )
     select "taskId", run, model from started`,
    [provider, JSON.stringify(choices), choices.map(({ taskId }) => taskId)],
  )
  return rows
}

/** Forgets whom the clock has passed: they would begin where a newcomer does. */
const forgetPassed = async (database: Database, provider: string): Promise<void> => {
  await database.query(
    `with passed as (
       delete from queue_shares
        where queue = $1 and virtual_finish < (select max(virtual_start) from queue_shares where queue = $1)
        returning owner
     )
     delete from queue_shares keys using passed where keys.queue = $1 || '/' || passed.owner`,
    [provider],
  )
}

/**
 * Hands waiting tasks to the engine, as many as there are free slots, in a transaction that has entered the line.
 * Two providers could together take an account over its cap, so where that is possible its count is locked first.
 */
export const claimAccepted = async (
  database: Database,
  queue: Queue,
  limit: number,
  limits: QueueLimits,
): Promise<{ starts: (Start & { model: string })[]; isThrottled: boolean }> => {
  let { choices, isThrottled } = await choose(database, queue, limit, limits, undefined)
  const near = new Set(choices.flatMap(({ accountId, isNearCap }) => (isNearCap ? accountId : [])))
  if (near.size > 0) {
    await lockAccounts(database, [...near])
    const under = await choose(database, queue, limit, limits, [...near])
    // Another provider was quicker. Who could have its place would have to be locked too; that is for the next turn.
    isThrottled = under.isThrottled || under.choices.length < choices.length
    choices = under.choices
  }
  if (choices.length === 0) return { starts: [], isThrottled }
  const starts = await start(database, queue.provider, choices)
  await forgetPassed(database, queue.provider)
  return { starts, isThrottled }
}

/** When the next task that was put off may start, in milliseconds from now; undefined when none was. */
export const nextStartInMs = async (database: Database, provider: string): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number }>(
    `select extract(epoch from not_before - now()) * 1000 as ms from open_tasks
      where provider = $1 and stage = 'accepted' and run > 0 and not_before > now()
      order by not_before limit 1`,
    [provider],
  )
  return rows[0]?.ms
}

/** How many tasks of these models a provider has in flight. */
export const countInFlight = async (
  database: Database,
  provider: string,
  models: string[],
): Promise<Map<string, number>> => {
  if (models.length === 0) return new Map()
  const { rows } = await database.query<{ model: string; tasks: number }>(
    `select model, count(*) as tasks from open_tasks
      where provider = $1 and stage <> 'accepted' and model = any ($2) group by model`,
    [provider, models],
  )
  return new Map(rows.map(({ model, tasks }) => [model, tasks]))
}

export interface WaitingTask {
  taskId: string
  day: string
  order: VideoOrder
  tried: string[]
}

/** Tasks of a model that wait at a provider and could as well wait elsewhere: nobody may have them, none is a remix. */
export const findMovable = async (
  database: Database,
  provider: string,
  model: string,
  limit: number,
): Promise<WaitingTask[]> => {
  const { rows } = await database.query<WaitingTask & Record<string, unknown>>(
    `select o.task_id as "taskId", o.day, o.tried_providers as tried, t.video_order as "order"
       from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
      where o.provider = $1 and o.stage = 'accepted' and o.model = $2 and o.outcome_unknown_since is null
        and not t.video_order ? 'remixOf'
      limit $3`,
    [provider, model, limit],
  )
  return rows
}

export interface Move {
  taskId: string
  day: string
  provider: string
  shard: number
  decision: Decision
}

/** Has waiting tasks wait at another provider, where they may start at once. */
export const moveWaiting = async (database: Database, from: string, moves: Move[]): Promise<void> => {
  await database.query(
    `with moved as (
       update open_tasks o
          set provider = m.provider, shard = m.shard, decision = m.decision, not_before = now(), last_activity_at = now()
         from jsonb_to_recordset($2::jsonb) as m
           ("taskId" text, day date, provider text, shard smallint, decision jsonb)
        where o.task_id = m."taskId" and o.provider = $1 and o.stage = 'accepted' and o.outcome_unknown_since is null
        returning o.day, o.task_id, o.provider
     )
     update video_tasks t set provider = moved.provider
       from moved where t.day = moved.day and t.id = moved.task_id`,
    [from, JSON.stringify(moves)],
  )
}

/** How many tasks of each account wait for a slot, counted up to a most. */
export const countWaiting = async (
  database: Database,
  accountIds: string[],
  most: number,
): Promise<Map<string, number>> => {
  const { rows } = await database.query<{ accountId: string; waiting: number }>(
    `select account.id as "accountId", queue.waiting
       from unnest($1::uuid[]) as account (id)
       cross join lateral (
         select count(*) as waiting
           from (select from open_tasks where stage = 'accepted' and account_id = account.id limit $2) tasks
       ) queue`,
    [accountIds, most],
  )
  return new Map(rows.map(({ accountId, waiting }) => [accountId, waiting]))
}

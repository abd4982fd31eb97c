/**
 * The order of a queue as one statement, which reads as many tasks of each key as there are free slots. It is slow, and simple
 * enough to be the reference for how the service chooses.
 */
import type { Database } from '../../src/platform/postgres.ts'
import type { Choice, Queue } from '../../src/videos/queue/choose-tasks.ts'
import type { QueueLimits } from '../../src/videos/queue/queue-limits.ts'

interface Chosen {
  choices: Choice[]
  isThrottled: boolean
}

export const chooseByStatement = async (
  database: Database,
  { provider, slots, slotsElsewhere, capacityOf, isStopped }: Queue,
  limit: number,
  { concurrencyPerAccount, concurrencyPerKey }: QueueLimits,
  locked: string[] | undefined,
): Promise<Chosen> => {
  const { rows } = await database.query<Chosen & Record<string, unknown>>(
    `with recursive in_flight as materialized (
       select provider, account_id, key_id, sum(tasks)::bigint as tasks from tasks_in_flight
        group by provider, account_id, key_id
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
              coalesce((select concurrency from accounts where id = w.account_id), $4) - coalesce(busy.tasks, 0) as capacity,
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
           select greatest(0, least((select slots from free), capacity - reserve, key_capacity - reserve))::bigint as most
         ) bound
         cross join lateral (
           (select task_id, run, model, accepted_at, case when run = 0 then seconds else 0 end as cost from open_tasks o
             where o.provider = $1 and o.stage = 'accepted' and o.account_id = key.account_id and o.key_id = key.key_id
               and o.not_before <= now() and not o.model = any ($8)
               and (o.outcome_unknown_since is not null or not $10)
             order by accepted_at, task_id limit most)
           union all
           select scarce.* from unnest($8::text[], $9::integer[]) as model (id, capacity)
            cross join lateral (
              select task_id, run, model, accepted_at, case when run = 0 then seconds else 0 end as cost from open_tasks o
               where o.provider = $1 and o.stage = 'accepted' and o.account_id = key.account_id and o.key_id = key.key_id
                 and o.not_before <= now() and o.model = model.id and model.capacity > 0
                 and (o.outcome_unknown_since is not null or not $10)
               order by accepted_at, task_id limit least(most, model.capacity + 1)
            ) scarce
         ) head
       window waiting_order as (partition by key.account_id, key.key_id order by accepted_at, task_id rows unbounded preceding)
     ), placed as (
       select *, row_number() over waiting_order as place, clock + sum(cost) over waiting_order - cost as virtual_start
         from candidate
       window waiting_order as (partition by account_id order by key_virtual_start, accepted_at, task_id rows unbounded preceding)
     ), chosen as (
       select * from placed
        where (capacity is null or place <= capacity - reserve) and (key_capacity is null or key_place <= key_capacity - reserve)
        order by virtual_start, here + place, accepted_at, task_id limit (select slots from free)
     )
     select coalesce((select jsonb_agg(jsonb_build_object(
              'taskId', task_id, 'run', run, 'model', model, 'accountId', account_id, 'keyId', key_id,
              'virtualStart', virtual_start, 'virtualFinish', virtual_start + cost,
              'keyVirtualStart', key_virtual_start, 'keyVirtualFinish', key_virtual_start + cost,
              'isNearCap', coalesce(place > capacity - $6 or key_place > key_capacity - $6, false))) from chosen), '[]')
              as choices,
            exists (select from key where is_elsewhere and (capacity <= 0 or key_capacity <= 0)) as "isThrottled"`,
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
      isStopped,
    ],
  )
  const { choices, isThrottled } = rows[0] ?? { choices: [], isThrottled: false }
  const within = withinCapacity(choices, capacityOf)
  return { choices: within, isThrottled: isThrottled || within.length < choices.length }
}

/** The first choices of each model, up to its capacity. */
const withinCapacity = (choices: Choice[], capacityOf: Map<string, number>): Choice[] => {
  const left = new Map(capacityOf)
  return choices.filter(({ model }) => {
    const capacity = left.get(model)
    if (capacity !== undefined) left.set(model, capacity - 1)
    return capacity === undefined || capacity > 0
  })
}

/** The keys with waiting tasks, and the first of these tasks. What is read does not grow with the length of the queues. */
import type { Database } from '../../platform/postgres.ts'
import type { Head, Queue, WaitingKey } from './choose-tasks.ts'
import type { QueueLimits } from './queue-limits.ts'

const headJson = `json_build_object('taskId', task_id, 'run', run, 'model', model,
                                    'acceptedAt', (extract(epoch from accepted_at) * 1000000)::bigint,
                                    'cost', case when run = 0 then seconds else 0 end)`

/**
 * The first waiting tasks of a key that may start, as JSON. Of models with limited capacity it reads at most one more than that,
 * so that tasks of other models behind them can start.
 */
const headsSql = (
  { accountId, keyId, startsMax, readMax }: Record<'accountId' | 'keyId' | 'startsMax' | 'readMax', string>,
  scarce: { models: string; capacities: string; isStopped: string },
): string => {
  const headOf = (condition: string, limit: string) =>
    `select task_id, run, model, accepted_at, seconds from open_tasks o
      where o.provider = $1 and o.stage = 'accepted' and o.account_id = ${accountId} and o.key_id = ${keyId}
        and o.not_before <= now() and ${condition} and (o.outcome_unknown_since is not null or not ${scarce.isStopped})
      order by accepted_at, task_id limit least(${startsMax}, ${readMax}${limit})`
  return `select coalesce(json_agg(${headJson}), '[]')
            from (select * from (
                    (${headOf(`not o.model = any (${scarce.models})`, '')})
                    union all
                    select of_model.* from unnest(${scarce.models}, ${scarce.capacities}) as model (id, capacity)
                     cross join lateral (
                       ${headOf('o.model = model.id and model.capacity > 0', ', model.capacity + 1')}
                     ) of_model
                  ) candidate order by accepted_at, task_id limit ${readMax}) head`
}

/** The first task of a key in the index, which may be one that must not start now. */
const firstColumns = `o.account_id, o.key_id, o.task_id, o.run, o.model, o.accepted_at, o.seconds,
  o.not_before <= now() and not o.model = any ($8) and (o.outcome_unknown_since is not null or not $10) as may_start`

/**
 * Skips from one waiting key to the next, and reads as many heads of each that all together are about twice as many as there
 * are free slots. `freeMax` limits the free slots. If `locked` is given, the limits of all other accounts are reduced by what
 * starts at other providers could take. Without a free slot no key is read.
 */
export const readWaitingKeys = async (
  database: Database,
  { provider, slots, slotsElsewhere, capacityOf, isStopped }: Queue,
  freeMax: number,
  { concurrencyPerAccount, concurrencyPerKey }: QueueLimits,
  locked: string[] | undefined,
): Promise<{ keys: WaitingKey[]; free: number }> => {
  const { rows } = await database.query<WaitingKey & { free: number } & Record<string, unknown>>(
    `with recursive in_flight as materialized (
       select provider, account_id, key_id, sum(tasks)::bigint as tasks from tasks_in_flight
        group by provider, account_id, key_id
     ), free as materialized (
       select greatest(0, least($3, $2 - coalesce(sum(tasks), 0)))::integer as slots from in_flight where provider = $1
     ), waiting as (
       (select ${firstColumns} from open_tasks o
         where o.provider = $1 and o.stage = 'accepted' and (select slots from free) > 0
         order by o.account_id, o.key_id, o.accepted_at, o.task_id limit 1)
       union all
       select next.*
         from waiting
         cross join lateral (
           select ${firstColumns} from open_tasks o
            where o.provider = $1 and o.stage = 'accepted'
              and (o.account_id, o.key_id) > (waiting.account_id, waiting.key_id)
            order by o.account_id, o.key_id, o.accepted_at, o.task_id limit 1
         ) next
     ), account as materialized (
       select w.account_id, coalesce(busy.here, 0)::bigint as here, coalesce(busy.tasks > coalesce(busy.here, 0), false) as is_elsewhere,
              (coalesce((select concurrency from accounts where id = w.account_id), $4) - coalesce(busy.tasks, 0))::bigint as capacity,
              case when $7::uuid[] is null or w.account_id = any ($7) then 0 else $6 end as reserve,
              greatest((select max(virtual_start) from queue_shares where queue = $1),
                       (select virtual_finish from queue_shares where queue = $1 and owner = w.account_id), 0) as clock,
              (select max(virtual_start) from queue_shares where queue = $1 || '/' || w.account_id) as keys_clock
         from (select distinct account_id from waiting) w
         left join (select account_id, sum(tasks) as tasks, sum(tasks) filter (where provider = $1) as here
                      from in_flight group by account_id) busy on busy.account_id = w.account_id
     ), key as materialized (
       select w.*, here, is_elsewhere, capacity, reserve, clock,
              (coalesce((select concurrency from keys where id = w.key_id), $5) - coalesce(busy.tasks, 0))::bigint as key_capacity,
              greatest(account.keys_clock, (select virtual_finish from queue_shares
                                             where queue = $1 || '/' || w.account_id and owner = w.key_id), 0) as key_clock
         from waiting w
         join account on account.account_id = w.account_id
         left join (select account_id, key_id, sum(tasks) as tasks from in_flight group by account_id, key_id) busy
           on busy.account_id = w.account_id and busy.key_id = w.key_id
     ), heads as materialized (
       select ceil(2.0 * (select slots from free) / greatest(1, count(*)))::integer as most from key
     )
     select account_id as "accountId", key_id as "keyId", here, is_elsewhere as "isElsewhere", capacity,
            key_capacity as "keyCapacity", clock, key_clock as "keyClock",
            -- The first task of a key is known already, so most keys of a queue with many of them are not read again.
            case when may_start and (select most from heads) = 1 then json_build_array(${headJson})
                 else (${headsSql(
                   {
                     ...{ accountId: 'key.account_id', keyId: 'key.key_id', startsMax: 'bound.starts_max' },
                     readMax: '(select most from heads)',
                   },
                   { models: '$8::text[]', capacities: '$9::integer[]', isStopped: '$10' },
                 )}) end as heads,
            (select most from heads) as "readMax", (select slots from free) as free
       from key
       cross join lateral (
         select greatest(0, least((select slots from free), capacity - reserve, key_capacity - reserve))::bigint as starts_max
       ) bound`,
    [
      provider,
      slots,
      freeMax,
      concurrencyPerAccount,
      concurrencyPerKey,
      slotsElsewhere,
      locked ?? null,
      [...capacityOf.keys()],
      [...capacityOf.values()],
      isStopped,
    ],
  )
  return { keys: rows, free: rows[0]?.free ?? 0 }
}

/** Reads the heads of some keys again, and more of them. */
export const readMoreHeads = async (
  database: Database,
  { provider, capacityOf, isStopped }: Queue,
  wanted: { accountId: string; keyId: string; startsMax: number; readMax: number }[],
): Promise<Head[][]> => {
  const { rows } = await database.query<{ heads: Head[] }>(
    `select (${headsSql(
      {
        ...{ accountId: 'key.account_id', keyId: 'key.key_id' },
        ...{ startsMax: 'key.starts_max', readMax: 'key.read_max' },
      },
      { models: '$6::text[]', capacities: '$7::integer[]', isStopped: '$8' },
    )}) as heads
       from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::integer[]) with ordinality
         as key (account_id, key_id, starts_max, read_max, place)
      order by place`,
    [
      provider,
      wanted.map(({ accountId }) => accountId),
      wanted.map(({ keyId }) => keyId),
      wanted.map(({ startsMax }) => startsMax),
      wanted.map(({ readMax }) => readMax),
      [...capacityOf.keys()],
      [...capacityOf.values()],
      isStopped,
    ],
  )
  return rows.map(({ heads }) => heads)
}

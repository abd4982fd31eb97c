import type { Database } from '../platform/postgres.ts'
import type { QueueState } from './queue-wait.ts'

/** The tasks that wait for each provider. */
export const countWaitingTasks = async (database: Database): Promise<QueueState['waiting']> => {
  const { rows } = await database.query<QueueState['waiting'][number]>(
    `select provider as queue, model, account_id as "accountId", key_id as "keyId", count(*) as waiting,
            sum(seconds) as cost, max(seconds) as "costMax"
       from open_tasks where stage = 'accepted' group by provider, model, account_id, key_id`,
  )
  return rows
}

/** The starts of the queues whose dispatcher is this loop of the engine, with the queue's name as its key. */
export const readStarts = async (database: Database, loop: string): Promise<QueueState['starts']> => {
  const { rows } = await database.query<QueueState['starts'][number]>(
    `select queue, model, starts, (extract(epoch from last.ticked_at) * 1000)::double precision as "tickedAtMs"
       from queue_starts
       join (
         select queue, ticked_at from (select distinct queue from queue_starts) queues
         cross join lateral (
           select ticked_at from ticks where loop = $1 and key = queue order by ticked_at desc limit 1
         ) tick
       ) last using (queue)`,
    [loop],
  )
  return rows
}

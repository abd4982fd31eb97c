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

/** Of each queue, at most this many tasks in flight are read. They stand for the others. */
const runningMax = 64

/** The tasks in flight of providers, and some or all of them. */
export const readInFlight = async (
  database: Database,
  providers: string[],
): Promise<Required<Pick<QueueState, 'inFlight' | 'running'>>> => {
  if (providers.length === 0) return { inFlight: [], running: [] }
  const inFlight = await database.query<{ queue: string; model: string; tasks: number }>(
    `select provider as queue, model, sum(tasks)::integer as tasks from tasks_in_flight
      where provider = any($1::text[]) group by provider, model having sum(tasks) > 0`,
    [providers],
  )
  const running = await database.query<{
    queue: string
    model: string
    seconds: number
    elapsedMs: number
  }>(
    `select queue, model, seconds,
            greatest(0, coalesce(extract(epoch from now() - submitted_at), 0) * 1000)::double precision as "elapsedMs"
       from unnest($1::text[]) as given (queue)
       cross join lateral (
         select model, seconds, submitted_at from open_tasks
          where provider = queue and stage <> 'accepted' limit $2
       ) task`,
    [providers, runningMax],
  )
  return { inFlight: inFlight.rows, running: running.rows }
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

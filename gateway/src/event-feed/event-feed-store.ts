/**
 * Reads the feed: the events of tasks and of accounts, in the order of the transactions that recorded them. Only events below the
 * oldest open transaction are read. No event can be committed there any more, so a reader that continues misses none.
 */
import { eventTypeNames, eventTypes } from '@kinora/contract/webhook-events'

import type { Database } from '../platform/postgres.ts'

export interface FeedEvent extends FeedPosition {
  id: string
  accountId: string
  type: string
  objectId: string
  /** Of an event of an account, what it shows. */
  data: object
  isOfTask: boolean
}

/** The place of an event in the feed. Numbers of 64 bits are texts. */
export interface FeedPosition {
  position: string
  number: string
  /** When the event occurred. */
  at: Date
}

export interface FeedQuery {
  /** Without it, the events of all accounts. */
  accountId: string | undefined
  /** Without it, from the beginning in this order. */
  after: Pick<FeedPosition, 'position' | 'number'> | undefined
  order: 'asc' | 'desc'
  type: string | undefined
  limit: number
}

type Row = FeedEvent & Record<string, unknown>

const greatest = '9223372036854775807'
const beginnings = {
  asc: { position: '0', number: '0' },
  desc: { position: greatest, number: greatest },
} as const

/** Where the feed ends now, as SQL. */
const feedEnd = 'event_position(pg_snapshot_xmin(pg_current_snapshot()))'

/** Progress counts when it passes a multiple of ten, as for webhooks. */
const isNotable = `e.kind <> 'accepted' and (e.kind <> 'progress' or (e.data ->> 'progress')::integer / 10 > coalesce((
  select max((x.data ->> 'progress')::integer) from task_events x
   where x.day = e.day and x.task_id = e.task_id and x.id < e.id and x.kind = 'progress'), 0) / 10)`

const typeOfTask = `e.object || '.' || e.kind`

type Source = 'tasks' | 'accounts' | 'both'

/** Which table has the events of a type, so that a search for a rare one does not read all events of tasks. */
const sourceOf = (type: string | undefined): Source => {
  if (type === undefined) return 'both'
  return eventTypeNames.some((name) => name === type && eventTypes[name].isOfTask) ? 'tasks' : 'accounts'
}

/** The parameters: days, position, number, type, limit, account. */
const readText = (order: 'asc' | 'desc', source: Source, ofAccount: boolean) => {
  const sorted = (table: string) =>
    `order by ${table}.position ${order}, ${table}.number ${order} limit $5::integer`
  const chosen = `${ofAccount ? 'e.account_id = $6 and ' : ''}e.position < ${feedEnd}
       and (e.position, e.number) ${order === 'asc' ? '>' : '<'} ($2::bigint, $3::bigint)
       and e.day >= (now() at time zone 'utc')::date - $1::integer`
  const ofTasks = `(select task_event_id(e.task_id, e.id) as id, e.account_id, ${typeOfTask} as type, e.task_id as object_id,
             e.data, true as is_of_task, e.position, e.number, e.created_at
        from task_events e where ${chosen} and e.account_id is not null and ($4::text is null or ${typeOfTask} = $4) and ${isNotable} ${sorted('e')})`
  const ofAccounts = `(select e.id, e.account_id, e.type, e.object_id, e.data, false as is_of_task, e.position, e.number, e.created_at
        from account_events e where ${chosen} and ($4::text is null or e.type = $4) ${sorted('e')})`
  const sources = { tasks: ofTasks, accounts: ofAccounts, both: `${ofTasks} union all ${ofAccounts}` }
  return `select f.id, f.account_id as "accountId", f.type, f.object_id as "objectId", f.data, f.is_of_task as "isOfTask",
         f.position::text as "position", f.number::text as "number", f.created_at as at
    from (${sources[source]}) f ${sorted('f')}`
}

/** The next events after a position. A task counts by its day, so all events of a task are in the period or none. */
export const readFeed = async (
  database: Database,
  days: number,
  { accountId, after, order, type, limit }: FeedQuery,
): Promise<FeedEvent[]> => {
  const { position, number } = after ?? beginnings[order]
  const { rows } = await database.query<Row>(readText(order, sourceOf(type), accountId !== undefined), [
    days,
    position,
    number,
    type ?? null,
    limit,
    ...(accountId === undefined ? [] : [accountId]),
  ])
  return rows
}

/** The end of the feed. All later reads find what follows it. */
export const findFeedEnd = async (database: Database): Promise<FeedPosition> => {
  const { rows } = await database.query<FeedPosition & Record<string, unknown>>(
    `select ${feedEnd}::text as "position", '0' as "number", now() as at`,
  )
  const [end] = rows
  if (end === undefined) throw new Error('PostgreSQL returned no snapshot.')
  return end
}

export interface FeedChanges {
  /** The accounts with events from the given position up to `end`. */
  accountIds: string[]
  end: string
  /** Whether there are events that an open transaction still delays. */
  hasPending: boolean
}

/** Which accounts have events since a position. Without one, only the end. */
export const findFeedChanges = async (
  database: Database,
  since: string | undefined,
): Promise<FeedChanges> => {
  const { rows } = await database.query<FeedChanges & Record<string, unknown>>(
    `select coalesce((select array_agg(distinct changed.account_id) from (
              select e.account_id from task_events e
               where e.position >= $1::bigint and e.position < ${feedEnd} and e.account_id is not null
              union all
              select e.account_id from account_events e where e.position >= $1::bigint and e.position < ${feedEnd}
            ) changed), '{}') as "accountIds",
            ${feedEnd}::text as "end",
            exists (select from task_events e where e.position >= ${feedEnd})
              or exists (select from account_events e where e.position >= ${feedEnd}) as "hasPending"`,
    [since ?? null],
  )
  const [changes] = rows
  if (changes === undefined) throw new Error('PostgreSQL returned no snapshot.')
  return changes
}

/** Begins a new generation of positions if the database was restored into another cluster or promoted. */
export const renewEventGeneration = async (database: Database): Promise<boolean> => {
  const { rows } = await database.query<{ isNew: boolean }>('select renew_event_generation() as "isNew"')
  return rows[0]?.isNew === true
}

/** The age of the oldest event that an open transaction delays, in seconds; 0 if there is none. */
export const readFeedDelay = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ seconds: number }>(
    `select coalesce(extract(epoch from clock_timestamp() - min(pending.created_at)), 0)::double precision as seconds from (
       (select e.created_at from task_events e where e.position >= ${feedEnd} order by e.position, e.number limit 1)
       union all
       (select e.created_at from account_events e where e.position >= ${feedEnd} order by e.position, e.number limit 1)
     ) pending`,
  )
  return rows[0]?.seconds ?? 0
}

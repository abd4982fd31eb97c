/** The endpoints that customers manage. Task endpoints are never read or changed here. */
import type { Database } from '../../platform/postgres.ts'
import { attemptsMax } from '../deliveries/retry-schedule.ts'

export interface EndpointSettings {
  url: string
  name: string
  events: string[]
  payload: 'full' | 'thin'
  concurrency: number
}

export interface EndpointRow extends EndpointSettings {
  id: string
  accountId: string
  /** Sealed. */
  secret: Buffer
  /** When the secret before the last rotation expires; null if it has, or there is none. */
  previousExpiresAt: Date | null
  isDisabled: boolean
  disabledReason: 'customer' | 'gone' | 'failing' | null
  failures: number
  failingSince: Date | null
  createdAt: Date
}

const endpointsWhere = (where: string) =>
  `select id, account_id as "accountId", url, name, events, payload, concurrency, secret,
          case when previous_secret_expires_at > now() then previous_secret_expires_at end as "previousExpiresAt",
          disabled_at is not null as "isDisabled", disabled_reason as "disabledReason", failures,
          failing_since as "failingSince", created_at as "createdAt"
     from webhook_endpoints where kind = 'account' and secret is not null and ${where}`

/** All endpoints of an account, newest first. They are few. */
export const listEndpoints = async (database: Database, accountId: string): Promise<EndpointRow[]> => {
  const { rows } = await database.query<EndpointRow & Record<string, unknown>>(
    `${endpointsWhere('account_id = $1')} order by created_at desc, id desc`,
    [accountId],
  )
  return rows
}

/** An endpoint of another account does not exist for the caller. */
export const findEndpoint = async (
  database: Database,
  accountId: string,
  id: string,
): Promise<EndpointRow | undefined> => {
  const { rows } = await database.query<EndpointRow & Record<string, unknown>>(
    endpointsWhere('id = $1 and account_id = $2'),
    [id, accountId],
  )
  return rows[0]
}

const valuesOf = ({ url, name, events, payload, concurrency }: EndpointSettings) => [
  ...[url, name, events, payload, concurrency],
]

export const addEndpoint = async (
  database: Database,
  { id, accountId, secret }: Pick<EndpointRow, 'id' | 'accountId' | 'secret'>,
  settings: EndpointSettings,
): Promise<void> => {
  await database.query(
    `insert into webhook_endpoints (id, account_id, kind, url, name, events, payload, concurrency, secret)
     values ($1, $2, 'account', $3, $4, $5, $6, $7, $8)`,
    [id, accountId, ...valuesOf(settings), secret],
  )
}

/**
 * Changes an endpoint. `isDisabled` undefined leaves it enabled or disabled. With `countsAsWorking`, earlier failures no longer
 * delay anything.
 */
export const changeEndpoint = async (
  database: Database,
  id: string,
  settings: EndpointSettings,
  { isDisabled, countsAsWorking }: { isDisabled: boolean | undefined; countsAsWorking: boolean },
): Promise<void> => {
  await database.query(
    `update webhook_endpoints
        set url = $2, name = $3, events = $4, payload = $5, concurrency = $6,
            disabled_at = case when $7::boolean is null then disabled_at when $7::boolean then coalesce(disabled_at, now()) end,
            disabled_reason = case when $7::boolean is null then disabled_reason
              when $7::boolean then coalesce(disabled_reason, 'customer') end,
            failures = case when $8::boolean then 0 else failures end,
            failing_since = case when not $8::boolean then failing_since end,
            paused_until = case when not $8::boolean then paused_until end
      where id = $1`,
    [id, ...valuesOf(settings), isDisabled ?? null, countsAsWorking],
  )
}

export const deleteEndpoint = async (database: Database, id: string): Promise<void> => {
  await database.query('delete from webhook_endpoints where id = $1', [id])
}

/** Replaces the secret. The previous one signs as well for the overlap, and no earlier one does. */
export const changeEndpointSecret = async (
  database: Database,
  id: string,
  secret: Buffer,
  overlapSeconds: number,
): Promise<void> => {
  await database.query(
    `update webhook_endpoints
        set secret = $2, previous_secret = case when $3::integer > 0 then secret end,
            previous_secret_expires_at = case when $3::integer > 0 then now() + make_interval(secs => $3::integer) end
      where id = $1`,
    [id, secret, overlapSeconds],
  )
}

export interface TestEvent {
  eventId: string
  type: string
  objectId: string
  data: object
}

/** Adds the delivery of a test event, which is due now; returns its id. */
export const addTestDelivery = async (
  database: Database,
  { id, accountId }: Pick<EndpointRow, 'id' | 'accountId'>,
  { eventId, type, objectId, data }: TestEvent,
): Promise<string> => {
  const { rows } = await database.query<{ id: string }>(
    `insert into webhook_deliveries (day, id, account_id, endpoint_id, event_id, type, object_id, data, occurred_at, next_attempt_at)
     values ((now() at time zone 'utc')::date, uuid_v7(), $1, $2, $3, $4, $5, $6, now(), now())
     returning id`,
    [accountId, id, eventId, type, objectId, JSON.stringify(data)],
  )
  const [added] = rows
  if (added === undefined) throw new Error('The delivery was not added.')
  return added.id
}

/** Makes deliveries pending again that have failed since a time, the oldest first; returns their number. */
export const redeliverFailed = async (
  database: Database,
  { id, accountId }: Pick<EndpointRow, 'id' | 'accountId'>,
  since: Date,
  limit: number,
): Promise<number> => {
  const { rowCount } = await database.query(
    `with failed as (
       select day, id from webhook_deliveries
        where account_id = $1 and endpoint_id = $2 and state = 'failed' and ended_at >= $3 and attempts < ${attemptsMax}
        order by occurred_at, id limit $4 for update skip locked
     )
     update webhook_deliveries d set state = 'pending', tries = 0, next_attempt_at = now(), ended_at = null
       from failed where d.day = failed.day and d.id = failed.id and d.state = 'failed'`,
    [accountId, id, since, limit],
  )
  return rowCount ?? 0
}

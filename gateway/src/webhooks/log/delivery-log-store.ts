/** The deliveries of an account and their attempts, as customers see them and send them again. */
import { filter, microsecondsOf, timeOf } from '../../admin/filter.ts'
import type { Database } from '../../platform/postgres.ts'
import type { DeliveryKey } from '../deliveries/delivery-store.ts'

export interface DeliveryRow extends DeliveryKey {
  /** Null if the create of a task named the URL. */
  endpointId: string | null
  /** Null if the endpoint was deleted. */
  url: string | null
  eventId: string
  type: string
  objectId: string
  state: 'pending' | 'delivered' | 'failed' | 'replaced'
  attempts: number
  nextAttemptAt: Date
  occurredAt: Date
  occurredMicroseconds: number
  endedAt: Date | null
}

const deliveriesWhere = (where: string) =>
  `select d.day, d.id, case when d.url is null then d.endpoint_id end as "endpointId", coalesce(d.url, e.url) as url,
          d.event_id as "eventId", d.type, d.object_id as "objectId", d.state, d.attempts,
          greatest(d.next_attempt_at, e.paused_until) as "nextAttemptAt", d.occurred_at as "occurredAt",
          ${microsecondsOf('d.occurred_at')} as "occurredMicroseconds", d.ended_at as "endedAt"
     from webhook_deliveries d left join webhook_endpoints e on e.id = d.endpoint_id
    ${where}`

export interface DeliveryFilter {
  endpointId: string | undefined
  state: string | undefined
  type: string | undefined
  objectId: string | undefined
  /** Nothing was delivered before. */
  since: Date | undefined
  after: string[] | undefined
}

/** Newest first. */
export const listDeliveries = async (
  database: Database,
  accountId: string,
  given: DeliveryFilter,
  limit: number,
): Promise<DeliveryRow[]> => {
  const { where, values } = filter([
    ['d.account_id = ?', accountId],
    // Deliveries to the URL of a create belong to none of the endpoints that the caller knows.
    ['d.endpoint_id = ? and d.url is null', given.endpointId],
    ['d.state = ?', given.state],
    ['d.type = ?', given.type],
    ['d.object_id = ?', given.objectId],
    ['d.occurred_at >= ? and d.day >= ?', given.since, given.since?.toISOString().slice(0, 10)],
    [`(d.occurred_at, d.id) < (${timeOf('?')}, ?::uuid)`, ...(given.after ?? [])],
  ])
  const { rows } = await database.query<DeliveryRow & Record<string, unknown>>(
    `${deliveriesWhere(where)} order by d.occurred_at desc, d.id desc limit $${values.length + 1}`,
    [...values, limit],
  )
  return rows
}

export const findDelivery = async (
  database: Database,
  accountId: string,
  day: string,
  id: string,
): Promise<DeliveryRow | undefined> => {
  const { rows } = await database.query<DeliveryRow & Record<string, unknown>>(
    deliveriesWhere('where d.day between $1::date - 1 and $1::date and d.id = $2 and d.account_id = $3'),
    [day, id, accountId],
  )
  return rows[0]
}

export interface AttemptRow {
  attempt: number
  startedAt: Date
  durationMs: number
  status: number | null
  error: string | null
  response: string | null
}

/** The latest attempts of a delivery, oldest first. */
export const listAttempts = async (
  database: Database,
  { day, id }: DeliveryKey,
  limit: number,
): Promise<AttemptRow[]> => {
  const { rows } = await database.query<AttemptRow & Record<string, unknown>>(
    `select attempt, started_at as "startedAt", duration_ms as "durationMs", status, error, response
       from webhook_attempts where day = $1 and delivery_id = $2 order by attempt desc limit $3`,
    [day, id, limit],
  )
  return rows.toReversed()
}

interface Receiver {
  endpointId: string
  /** Null if the endpoint was deleted. */
  isDisabled: boolean | null
}

/** The receiver of a delivery. */
export const findReceiver = async (
  database: Database,
  { day, id }: DeliveryKey,
): Promise<Receiver | undefined> => {
  const { rows } = await database.query<Receiver & Record<string, unknown>>(
    `select d.endpoint_id as "endpointId", case when e.id is not null then e.disabled_at is not null end as "isDisabled"
       from webhook_deliveries d left join webhook_endpoints e on e.id = d.endpoint_id
      where d.day = $1 and d.id = $2`,
    [day, id],
  )
  return rows[0]
}

/**
 * Makes a delivery due now, with all of its retries. An attempt under way only counts if it succeeds. False if the delivery was
 * replaced.
 */
export const redeliver = async (database: Database, { day, id }: DeliveryKey): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update webhook_deliveries set state = 'pending', tries = 0, next_attempt_at = now(), ended_at = null,
            claimed_by = null, claimed_until = null
      where day = $1 and id = $2 and state <> 'replaced'`,
    [day, id],
  )
  return rowCount === 1
}

/** Tells the workers, with the commit, that an endpoint has something to send. The hint may be lost. */
export const announceDeliveries = async (database: Database, endpointId: string): Promise<void> => {
  await database.query("select pg_notify('webhook_deliveries', $1)", [endpointId])
}

/** The deliveries of an endpoint: which are due, which attempt is under way, and what came of it. */
import type { EngineLoop } from '../../platform/engine/anti-entropy.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'

export interface DeliveryKey {
  day: string
  id: string
}

/** A delivery with an attempt under way, and its receiver. */
export interface ClaimedDelivery extends DeliveryKey {
  claimId: string
  accountId: string
  endpointId: string
  url: string
  payload: 'full' | 'thin'
  /** Sealed, the current one first. Of a task endpoint, those of the account. */
  secrets: Buffer[]
  eventId: string
  type: string
  objectId: string
  data: unknown
  occurredAt: Date
  attempts: number
  tries: number
}

/** After so many failures in a row, an endpoint gets one attempt at a time, with pauses between them. */
const failuresMax = 5

/** How many attempts an endpoint may have under way, as SQL. */
const windowOf = `case when e.failures >= ${failuresMax} then 1 else e.concurrency end`

/** The endpoints with pending deliveries, as SQL: `waiting`. Reads one index entry for each. */
const waitingEndpoints = `with recursive waiting as (
       (select endpoint_id from webhook_deliveries where state = 'pending' order by endpoint_id limit 1)
       union all
       select (select d.endpoint_id from webhook_deliveries d
                where d.state = 'pending' and d.endpoint_id > waiting.endpoint_id order by d.endpoint_id limit 1)
         from waiting where waiting.endpoint_id is not null
     )`

/** The condition of a pending delivery that no attempt is under way, as SQL. */
const isUnclaimed = 'coalesce(d.claimed_until <= now(), true)'

/** How many attempts may be under way now, and how many are: the oldest due deliveries up to the concurrency of the endpoint. */
const windowed = `
  select d.day, d.id, d.claimed_until from webhook_deliveries d
   where d.endpoint_id = e.id and d.state = 'pending' and d.next_attempt_at <= now()
   order by d.next_attempt_at limit ${windowOf}`

/**
 * Claims the due deliveries of an endpoint for which there is room, at most `limit`. Those under way stay the first in the order,
 * so they take up the room that they need. A claim that was not completed in time is repeated.
 */
export const claimDue = async (
  database: Database,
  endpointId: string,
  claimId: string,
  limit: number,
  claimMs: number,
): Promise<ClaimedDelivery[]> => {
  const { rows } = await database.query<ClaimedDelivery & Record<string, unknown>>(
    `with endpoint as (
       select e.*, s.secret as account_secret, s.previous_secret as account_previous_secret,
              s.previous_secret_expires_at as account_previous_expires_at
         from webhook_endpoints e left join webhook_secrets s on s.account_id = e.account_id and e.kind = 'task'
        where e.id = $1 and e.disabled_at is null and coalesce(e.paused_until <= now(), true)
     ), due as (
       select due.day, due.id from endpoint e cross join lateral (${windowed}) due
        where coalesce(due.claimed_until <= now(), true) limit $3
     ), locked as materialized (
       select d.day, d.id from webhook_deliveries d join due on due.day = d.day and due.id = d.id
        where d.state = 'pending' and ${isUnclaimed} for update of d skip locked
     )
     update webhook_deliveries d
        set claimed_by = $2, claimed_until = now() + make_interval(secs => $4 / 1000.0)
       from locked, endpoint e where d.day = locked.day and d.id = locked.id
     returning d.day, d.id, $2::uuid as "claimId", d.account_id as "accountId", d.endpoint_id as "endpointId",
               coalesce(d.url, e.url) as url, e.payload,
               array_remove(case when e.kind = 'account'
                 then array[e.secret, case when e.previous_secret_expires_at > now() then e.previous_secret end]
                 else array[e.account_secret, case when e.account_previous_expires_at > now() then e.account_previous_secret end]
               end, null) as secrets,
               d.event_id as "eventId", d.type, d.object_id as "objectId", d.data, d.occurred_at as "occurredAt",
               d.attempts, d.tries`,
    [endpointId, claimId, limit, claimMs],
  )
  return rows
}

/**
 * When the endpoint can next be sent something, in milliseconds from now: when a delivery is due and the endpoint is not paused,
 * or when an attempt under way counts as lost. Undefined if nothing is pending or the endpoint is disabled.
 */
export const nextDeliveryInMs = async (
  database: Database,
  endpointId: string,
): Promise<number | undefined> => {
  const { rows } = await database.query<{ ms: number | null }>(
    `select extract(epoch from greatest(e.paused_until, coalesce(free.at, busy.at)) - now()) * 1000 as ms
       from webhook_endpoints e
      cross join lateral (
        select min(w.at) as at from (
          select d.next_attempt_at as at, d.claimed_until from webhook_deliveries d
           where d.endpoint_id = e.id and d.state = 'pending' order by d.next_attempt_at limit ${windowOf}
        ) w where coalesce(w.claimed_until <= now(), true)
      ) free
      cross join lateral (
        select min(w.claimed_until) as at from (${windowed}) w
      ) busy
      where e.id = $1 and e.disabled_at is null and coalesce(free.at, busy.at) is not null`,
    [endpointId],
  )
  return rows[0]?.ms ?? undefined
}

export interface AttemptOutcome extends DeliveryKey {
  claimId: string
  endpointId: string
  durationMs: number
  status: number | null
  error: string | null
  response: string | null
  /** delivered: the receiver has it. failed: there is no further attempt. */
  state: 'delivered' | 'failed' | 'pending'
  /** The pause until the next attempt, if it is still pending. */
  pauseSeconds: number | null
  /** The endpoint wants nothing any more. */
  isGone: boolean
  /** Whether the endpoint worked, whatever becomes of the delivery. */
  hasResponded: boolean
}

/** Whether a delivery of the endpoint is pending and has no attempt under way, due or not. */
export const hasUnclaimedDelivery = async (database: Database, endpointId: string): Promise<boolean> => {
  const { rows } = await database.query<{ hasUnclaimed: boolean }>(
    `select exists (
       select from webhook_deliveries d where d.endpoint_id = $1 and d.state = 'pending' and ${isUnclaimed}
     ) as "hasUnclaimed"`,
    [endpointId],
  )
  return rows[0]?.hasUnclaimed === true
}

/** When the attempt began, as SQL. */
const startedAt = 'now() - make_interval(secs => $7 / 1000.0)'
/** An endpoint that keeps failing is left alone for half as long as it has failed, at most for this time. */
const endpointPauseMax = '1 minute'

/**
 * Records an attempt and its effects in one statement. A success counts, even if the attempt had been given up; a failure only if
 * no other attempt has begun. Returns the account if this attempt has disabled the endpoint, which is an event, and whether
 * the endpoint had a pending delivery without an attempt when the statement began, or has this one.
 */
export const recordAttempt = async (
  database: Database,
  outcome: AttemptOutcome,
  failingSecondsMax: number,
): Promise<{ disabledAccountId: string | undefined; hasUnclaimed: boolean }> => {
  const { rows } = await database.query<{
    accountId: string | null
    disabledNow: boolean | null
    hasUnclaimed: boolean
  }>(
    `with moved as (
       update webhook_deliveries
          set state = $5, attempts = attempts + 1, tries = tries + 1, claimed_by = null, claimed_until = null,
              next_attempt_at = case when $5 = 'pending' then now() + make_interval(secs => $6) else next_attempt_at end,
              ended_at = case when $5 <> 'pending' then now() end
        where day = $1 and id = $2 and state = 'pending' and (claimed_by = $4 or $5 = 'delivered')
       returning day, id, attempts
     ), attempt as (
       insert into webhook_attempts (day, delivery_id, attempt, started_at, duration_ms, status, error, response)
       select day, id, attempts, ${startedAt}, $7, $8, $9, $10 from moved
     ), counted as (
       update webhook_endpoints e
        set failures = case when $12 then 0 else e.failures + 1 end,
            failing_since = case when $12 then null else coalesce(e.failing_since, ${startedAt}) end,
            paused_until = case when not $12 and e.failures + 1 >= ${failuresMax}
              then now() + least(interval '${endpointPauseMax}', greatest(interval '1 second', (now() - e.failing_since) / 2)) end,
            disabled_reason = case when $11 then 'gone'
              when not $12 and e.failing_since < now() - make_interval(secs => $13) then 'failing' else e.disabled_reason end,
            disabled_at = case when $11 or not $12 and e.failing_since < now() - make_interval(secs => $13)
              then coalesce(e.disabled_at, now()) else e.disabled_at end
      where e.id = $3 and exists (select from moved) and (not $12 or $11 or e.failures > 0)
       returning e.id, e.account_id, e.kind, e.url, e.disabled_reason, e.disabled_at
     ), told as (
       insert into account_events (account_id, type, object_id, data)
       select account_id, 'webhook_endpoint.disabled', id::text,
              -- Customers do not see the endpoints that stand for the origins of their creates.
              jsonb_build_object('id', id, 'object', case kind when 'task' then 'webhook_origin' else 'webhook_endpoint' end,
                'url', url, 'disabled_reason', disabled_reason, 'disabled_at', floor(extract(epoch from disabled_at)))
         from counted where disabled_at = now()
     )
     select (select account_id from counted) as "accountId", (select disabled_at = now() from counted) as "disabledNow",
            $5 = 'pending' or exists (
              select from webhook_deliveries d
               where d.endpoint_id = $3 and d.state = 'pending' and ${isUnclaimed} and (d.day, d.id) <> ($1, $2)
            ) as "hasUnclaimed"`,
    [
      ...[outcome.day, outcome.id, outcome.endpointId, outcome.claimId],
      ...[outcome.state, outcome.pauseSeconds, outcome.durationMs],
      ...[
        outcome.status,
        outcome.error,
        outcome.response,
        outcome.isGone,
        outcome.hasResponded,
        failingSecondsMax,
      ],
    ],
  )
  const [recorded] = rows
  if (recorded === undefined) throw new Error('PostgreSQL returned no row.')
  const { accountId, disabledNow, hasUnclaimed } = recorded
  return { disabledAccountId: disabledNow === true ? (accountId ?? undefined) : undefined, hasUnclaimed }
}

const endedAtOnce = 1_000
/** What a caller waits for. A worker ends the rest. */
const endedMax = 10_000

/**
 * Ends what was to be delivered to an endpoint that is disabled or deleted, a part at a time and never waiting for a lock, because
 * there may be hundreds of thousands. Must be called after the change is committed.
 */
export const endPending = async (postgres: Postgres, endpointId: string): Promise<void> => {
  for (let ended = 0; ended < endedMax; ended += endedAtOnce) {
    const { rowCount } = await postgres.query(
      `update webhook_deliveries d set state = 'failed', ended_at = now(), claimed_by = null, claimed_until = null
         from (
           select day, id from webhook_deliveries
            where endpoint_id = $1 and state = 'pending'
              and not exists (select from webhook_endpoints e where e.id = $1 and e.disabled_at is null)
            limit $2 for update skip locked
         ) pending
        where d.day = pending.day and d.id = pending.id`,
      [endpointId, endedAtOnce],
    )
    if ((rowCount ?? 0) < endedAtOnce) return
  }
}

/** The endpoints that are disabled or deleted and have pending deliveries. */
export const findEndedEndpoints = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ endpointId: string }>(
    `${waitingEndpoints}
     select w.endpoint_id as "endpointId" from waiting w
      where w.endpoint_id is not null
        and not exists (select from webhook_endpoints e where e.id = w.endpoint_id and e.disabled_at is null)`,
  )
  return rows.map(({ endpointId }) => endpointId)
}

/** The endpoints with a delivery that has been due for `overdueMs`, so that a lost wake-up delays it only for so long. */
export const findOverdueEndpoints = async (
  database: Database,
  loop: string,
  overdueMs: number,
): Promise<EngineLoop[]> => {
  const { rows } = await database.query<{ loop: string; key: string; isOverdue: boolean }>(
    `${waitingEndpoints}
     select $1 as loop, w.endpoint_id::text as key, true as "isOverdue"
       from waiting w join webhook_endpoints e on e.id = w.endpoint_id and e.disabled_at is null
      where exists (
        select from webhook_deliveries d where d.endpoint_id = e.id and d.state = 'pending'
           and greatest(d.next_attempt_at, d.claimed_until, e.paused_until) < now() - make_interval(secs => $2 / 1000.0)
      )`,
    [loop, overdueMs],
  )
  return rows
}

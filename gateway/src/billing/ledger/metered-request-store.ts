import type { Metadata } from '@kinora/contract/metadata'

import type { Database } from '../../platform/postgres.ts'
import type { Wallet } from '../money/money.ts'
import type { Price } from '../prices/price.ts'

export interface NewMeteredRequest {
  id: string
  day: string
  /** The time in the id. */
  createdAt: Date
  accountId: string
  keyId: string
  operation: string
  model: string
  /** The name of the model in the request: its id or an alias. */
  modelName: string
  provider: string
  wallet: Wallet
  heldFor: Price[]
  holdMicros: number
  /** The caller's own data. */
  metadata?: Metadata | undefined
}

export type MeteredOutcome = 'completed' | 'aborted' | 'failed' | 'abandoned'

/** A request whose hold is still open. */
export type OpenRequest = Pick<
  NewMeteredRequest,
  'id' | 'day' | 'accountId' | 'keyId' | 'wallet' | 'holdMicros'
>

/** The insert statement, to be embedded in a larger one. Both arguments are SQL expressions. */
export const insertRequestsSql = (list: string, leaseSeconds: string): string =>
  `insert into metered_requests
     (day, id, account_id, key_id, operation, model, model_name, provider, wallet, held_for, hold_micros, created_at,
      lease_expires_at, metadata)
   select day, id, "accountId", "keyId", operation, model, nullif("modelName", model), provider, wallet, "heldFor",
          "holdMicros", "createdAt", now() + make_interval(secs => ${leaseSeconds}), metadata
     from jsonb_to_recordset(${list}::jsonb) as request
       (day date, id text, "accountId" uuid, "keyId" uuid, operation text, model text, "modelName" text, provider text,
        wallet text, "heldFor" jsonb, "holdMicros" bigint, "createdAt" timestamptz, metadata jsonb)`

export const insertMeteredRequests = async (
  database: Database,
  requests: NewMeteredRequest[],
  leaseSeconds: number,
): Promise<void> => {
  if (requests.length === 0) return
  await database.query(insertRequestsSql('$1', '$2'), [JSON.stringify(requests), leaseSeconds])
}

export interface MeteredEnding {
  request: OpenRequest
  /** The provider that served the request, if known. */
  provider?: string
  outcome: MeteredOutcome
  chargedFor: Price[]
  capturedMicros: number
  /** What the request cost at the provider; undefined if its costs are not configured. */
  costMicros?: number | undefined
}

/**
 * Ends requests that are still open and returns their ids. A request is marked abandoned only if its lease has not been
 * extended in the meantime.
 */
export const finishMeteredRequests = async (
  database: Database,
  endings: MeteredEnding[],
): Promise<Set<string>> => {
  const { rows } = await database.query<{ id: string }>(
    // Days and ids are separate parameters so that the planner always uses the index.
    // The rows are locked in a fixed order, because one request may be settled and abandoned at the same moment.
    `with locked as materialized (
       select id from metered_requests
        where day = any($1::date[]) and id = any($2::text[]) and outcome = 'open'
        order by id for update
     )
     update metered_requests r
        set outcome = e.outcome, charged_for = e."chargedFor", captured_micros = e."capturedMicros",
            finished_at = now(), provider = coalesce(e.provider, r.provider), cost_micros = e."costMicros"
       from jsonb_to_recordset($3::jsonb) as e
         (id text, provider text, outcome text, "chargedFor" jsonb, "capturedMicros" bigint, "costMicros" bigint)
       join locked on locked.id = e.id
      where r.day = any($1::date[]) and r.id = any($2::text[]) and r.id = e.id
        and r.outcome = 'open' and (e.outcome <> 'abandoned' or r.lease_expires_at < now())
     returning r.id`,
    [
      [...new Set(endings.map(({ request }) => request.day))],
      endings.map(({ request }) => request.id),
      JSON.stringify(endings.map(({ request: { id }, ...ending }) => ({ ...ending, id }))),
    ],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Extends the leases of requests that are still being served. */
export const extendLeases = async (
  database: Database,
  requests: Pick<OpenRequest, 'id' | 'day'>[],
  leaseSeconds: number,
): Promise<void> => {
  await database.query(
    `with locked as materialized (
       select r.day, r.id
         from unnest($1::date[], $2::text[]) as served (day, id)
         join metered_requests r on r.day = served.day and r.id = served.id and r.outcome = 'open'
        order by r.id for update of r
     )
     update metered_requests r set lease_expires_at = now() + make_interval(secs => $3)
       from locked where r.day = locked.day and r.id = locked.id and r.outcome = 'open'`,
    [requests.map(({ day }) => day), requests.map(({ id }) => id), leaseSeconds],
  )
}

/** Open requests whose lease has expired. */
export const findAbandonedRequests = async (database: Database, limit: number): Promise<OpenRequest[]> => {
  const { rows } = await database.query<OpenRequest>(
    `select id, day, account_id as "accountId", key_id as "keyId", wallet, hold_micros as "holdMicros"
       from metered_requests where outcome = 'open' and lease_expires_at < now() order by lease_expires_at limit $1`,
    [limit],
  )
  return rows
}

import { ApiError } from '@kinora/contract/errors'

import type { StoreResponses, ResponseToStore } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'

/** The exclusive right to process a request, held by its first sender. */
export interface Claim {
  accountId: string
  name: Buffer
  claim: string
}

interface NewClaim extends Claim {
  operation: string
  fingerprint: Buffer
  /** Undefined if the caller sent a key. */
  retry: number | undefined
}

export interface StoredResponse extends Pick<ResponseToStore, 'body' | 'bodyKind' | 'taskId'> {
  fingerprint: Buffer
  /** Null while the request is in progress, like the others. */
  status: number | null
  headers: ResponseToStore['headers'] | null
}

/** How long a claim lasts unless it is extended. */
const claimSeconds = 20

/**
 * Claims a request unless it is already claimed; an expired claim is taken over. It commits asynchronously: everything
 * that depends on the claim is committed after it, so it can only survive a crash together with the claim.
 */
export const claimKey = async (database: Database, claim: NewClaim): Promise<boolean> => {
  const { rowCount } = await database.query(
    `with quick as materialized (select set_config('synchronous_commit', 'off', true) as mode)
     insert into idempotency_keys as k (account_id, name, operation, fingerprint, claim, retry, expires_at)
     select $1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7) from quick where mode = 'off'
     on conflict (account_id, name) do update
        set operation = excluded.operation, fingerprint = excluded.fingerprint, claim = excluded.claim,
            retry = excluded.retry, status = null, headers = null, body = null, body_kind = null, task_id = null,
            created_at = now(), expires_at = excluded.expires_at
      where k.expires_at <= now()`,
    [
      claim.accountId,
      claim.name,
      claim.operation,
      claim.fingerprint,
      claim.claim,
      claim.retry ?? null,
      claimSeconds,
    ],
  )
  return rowCount === 1
}

/**
 * Finds an earlier attempt of this request and returns its name, or claims the request. Among several equal requests a
 * retry gets the one with the next lower retry count, so that two requests whose responses were both lost do not get
 * the same response. Call it in a transaction: an advisory lock serialises the attempts.
 */
export const joinEarlierAttempt = async (
  database: Database,
  claim: NewClaim & { retry: number },
): Promise<Buffer | undefined> => {
  await database.query(`select pg_advisory_xact_lock(hashtextextended(encode($1::bytea, 'hex'), 0))`, [
    claim.fingerprint,
  ])
  const { rows } = await database.query<{ name: Buffer }>(
    `update idempotency_keys k set retry = greatest(k.retry, $3) from (
       select account_id, name from idempotency_keys
        where account_id = $1 and fingerprint = $2 and retry is not null and expires_at > now()
        order by retry < $3 desc, retry desc, created_at desc limit 1
     ) earlier where k.account_id = earlier.account_id and k.name = earlier.name
     returning k.name`,
    [claim.accountId, claim.fingerprint, claim.retry],
  )
  const [earlier] = rows
  if (earlier !== undefined) return earlier.name
  await claimKey(database, claim)
  return undefined
}

export const findResponse = async (
  database: Database,
  accountId: string,
  name: Buffer,
): Promise<StoredResponse | undefined> => {
  const { rows } = await database.query<StoredResponse>(
    `select fingerprint, status, headers, body, body_kind as "bodyKind", task_id as "taskId"
       from idempotency_keys where account_id = $1 and name = $2 and expires_at > now()`,
    [accountId, name],
  )
  return rows[0]
}

/**
 * Whether a request may be a repetition: of the same idempotency key or, for a retry of a client library, of any earlier
 * request to the same operation.
 */
export const mayBeReplay = async (
  database: Database,
  accountId: string,
  { name, operation }: { name: Buffer | undefined; operation: string },
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `select 1 from idempotency_keys
      where account_id = $1 and expires_at > now()
        and case when $2::bytea is null then retry is not null and operation = $3 else name = $2 end
      limit 1`,
    [accountId, name ?? null, operation],
  )
  return rowCount === 1
}

/** A response with an idempotency key is stored for a day, one for retries of a client library for ten minutes. */
export const storeResponses: StoreResponses = async (database, responses) => {
  if (responses.length === 0) return
  const { rowCount } = await database.query(
    `update idempotency_keys k
        set status = r.status, headers = r.headers, body = r.body, body_kind = r.body_kind, task_id = r.task_id,
            expires_at = case when k.retry is null then k.created_at + interval '24 hours'
                              else now() + interval '10 minutes' end
       from unnest($1::uuid[], $2::bytea[], $3::uuid[], $4::integer[], $5::jsonb[], $6::bytea[], $7::text[],
                   $8::text[]) as r (account_id, name, claim, status, headers, body, body_kind, task_id)
      where k.account_id = r.account_id and k.name = r.name and k.claim = r.claim and k.status is null`,
    [
      responses.map(({ accountId }) => accountId),
      responses.map(({ name }) => name),
      responses.map(({ claim }) => claim),
      responses.map(({ status }) => status),
      responses.map(({ headers }) => JSON.stringify(headers)),
      responses.map(({ body }) => body),
      responses.map(({ bodyKind }) => bodyKind),
      responses.map(({ taskId }) => taskId),
    ],
  )
  // The claim was taken over by another request, which creates the task; this transaction must roll back.
  if (rowCount !== responses.length)
    throw new ApiError('request_in_progress', { headers: { 'retry-after': '1' } })
}

/** Extends the claims of requests that are still in progress. */
export const extendClaims = async (database: Database, claims: Claim[]): Promise<void> => {
  await database.query(
    `update idempotency_keys k set expires_at = now() + make_interval(secs => $4)
       from unnest($1::uuid[], $2::bytea[], $3::uuid[]) as held (account_id, name, claim)
      where k.account_id = held.account_id and k.name = held.name and k.claim = held.claim and k.status is null`,
    [
      claims.map(({ accountId }) => accountId),
      claims.map(({ name }) => name),
      claims.map(({ claim }) => claim),
      claimSeconds,
    ],
  )
}

/** Releases the claim of a request without a response, so that its next attempt starts anew. */
export const releaseClaim = async (database: Database, { accountId, name, claim }: Claim): Promise<void> => {
  await database.query(
    'delete from idempotency_keys where account_id = $1 and name = $2 and claim = $3 and status is null',
    [accountId, name, claim],
  )
}

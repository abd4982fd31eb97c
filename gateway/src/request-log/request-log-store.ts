import type { CompletedRequest } from '../http/completed-request.ts'
import { timeOfRequestId } from '../platform/ids/request-id.ts'
import type { Database } from '../platform/postgres.ts'

/** In the order of the columns below. */
const written = [
  ...([
    'id',
    'at',
    'accountId',
    'keyId',
    'operation',
    'method',
    'path',
    'status',
    'errorCode',
    'model',
  ] as const),
  ...(['provider', 'taskId', 'durationMs', 'address', 'userAgent'] as const),
]

export const insertRequests = async (database: Database, requests: CompletedRequest[]): Promise<void> => {
  if (requests.length === 0) return
  // Arrays, because PostgreSQL needs half as long to read them as JSON.
  await database.query(
    `insert into request_log (day, id, at, account_id, key_id, operation, method, path, status, error_code, model,
                           provider, task_id, duration_ms, address, user_agent)
     select (at at time zone 'utc')::date, request.*
       from unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[],
                   $8::smallint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::integer[], $14::text[],
                   $15::text[]) as request (id, at)`,
    written.map((name) => requests.map((request) => request[name])),
  )
}

/** Records when keys were last used; a key whose row is locked is skipped. */
export const recordKeyUses = async (
  database: Database,
  uses: { keyId: string; at: Date }[],
  atMostEverySeconds: number,
): Promise<void> => {
  if (uses.length === 0) return
  await database.query(
    `update keys k set last_used_at = used.at
       from (select due.id, given.at
               from unnest($1::uuid[], $2::timestamptz[]) as given (id, at)
               join keys due on due.id = given.id
              where due.last_used_at is null or due.last_used_at < given.at - make_interval(secs => $3)
                for no key update of due skip locked) used
      where k.id = used.id`,
    [uses.map(({ keyId }) => keyId), uses.map(({ at }) => at), atMostEverySeconds],
  )
}

interface RequestFilter {
  id?: string | undefined
  accountId?: string | undefined
  keyId?: string | undefined
  operation?: string | undefined
  method?: string | undefined
  /** The beginning of the path. */
  path?: string | undefined
  address?: string | undefined
  provider?: string | undefined
  status?: number | undefined
  /** Only statuses from here to the next hundred. */
  statusFrom?: number | undefined
  errorCode?: string | undefined
  model?: string | undefined
  taskId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only requests older than this one. */
  after?: { at: Date; id: string } | undefined
  limit: number
}

/** A completed request with the names of its account and key. */
export interface LoggedRecord extends CompletedRequest {
  accountName: string | null
  keyName: string | null
}

const columns = `id, at, account_id as "accountId", key_id as "keyId",
  (select name from accounts a where a.id = request_log.account_id) as "accountName",
  (select name from keys k where k.id = request_log.key_id) as "keyName", operation, method, path, status,
  error_code as "errorCode", model, provider, task_id as "taskId", duration_ms as "durationMs", address, user_agent as "userAgent"`

/**
 * How far the time of a request may be from the time in its id. Both come from the same clock, which may be set between
 * them; no index by id is needed, because the one by time leads to the few requests of these minutes.
 */
const clockChangeMs = 60_000

/** The newest matching requests from a position on. The SQL has only the given conditions, so that each can use its index. */
export const listRequests = async (
  database: Database,
  { after, limit, ...filter }: RequestFilter,
): Promise<LoggedRecord[]> => {
  const values: unknown[] = [limit]
  const conditions: string[] = ['true']
  const given = (value: unknown, condition: (place: string) => string) => {
    if (value === undefined) return
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  const dayOf = (time: string) => `(${time}::timestamptz at time zone 'utc')::date`
  given(filter.id, (id) => `id = ${id}`)
  given(filter.accountId, (id) => `account_id = ${id}`)
  given(filter.keyId, (id) => `key_id = ${id}`)
  given(filter.operation, (operation) => `operation = ${operation}`)
  given(filter.method, (method) => `method = ${method}`)
  given(filter.path, (path) => `starts_with(path, ${path})`)
  given(filter.address, (address) => `address = ${address}`)
  given(filter.provider, (provider) => `provider = ${provider}`)
  given(filter.status, (status) => `status = ${status}`)
  given(filter.statusFrom, (status) => `status >= ${status} and status < ${status}::smallint + 100`)
  given(filter.errorCode, (code) => `error_code = ${code}`)
  given(filter.model, (model) => `model = ${model}`)
  given(filter.taskId, (id) => `task_id = ${id}`)
  const fromTime = (from: string) => `day >= ${dayOf(from)} and at >= ${from}`
  const toTime = (to: string) => `day <= ${dayOf(to)} and at < ${to}`
  // The day limits the search to the partitions of those months.
  given(filter.from, fromTime)
  given(filter.to, toTime)
  const idMs = filter.id === undefined ? undefined : timeOfRequestId(filter.id)
  if (idMs !== undefined) {
    given(new Date(idMs - clockChangeMs), fromTime)
    given(new Date(idMs + clockChangeMs), toTime)
  }
  given(after?.at, (at) => `day <= ${dayOf(at)} and at <= ${at}`)
  if (after !== undefined) {
    values.push(after.id)
    conditions.push(`(at, id) < ($${values.length - 1}, $${values.length})`)
  }
  const { rows } = await database.query<LoggedRecord & Record<string, unknown>>(
    `select ${columns} from request_log where ${conditions.join(' and ')} order by at desc, id desc limit $1`,
    values,
  )
  return rows
}

/** The request with this id; undefined if there is none, or if the text is not the id of a request. */
export const findRequest = async (database: Database, id: string): Promise<LoggedRecord | undefined> => {
  if (timeOfRequestId(id) === undefined) return undefined
  const [found] = await listRequests(database, { id, limit: 1 })
  return found
}

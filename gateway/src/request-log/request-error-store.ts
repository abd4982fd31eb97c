import type { Database } from '../platform/postgres.ts'

export interface ErrorFilter {
  accountId?: string | undefined
  keyId?: string | undefined
  operation?: string | undefined
  errorCode?: string | undefined
  model?: string | undefined
  provider?: string | undefined
  from: Date
  to: Date
  groupsMax: number
}

export interface ErrorGroup {
  errorCode: string
  operation: string
  model: string | null
  provider: string | null
  status: number
  count: number
  accounts: number
  keys: number
  anonymous: number
  firstSeen: Date
  lastSeen: Date
  exampleId: string
  /** The requests of each hour, by the hours before the end of the period. */
  hours: Record<string, number>
  /** The same for all groups. */
  groups: number
  total: number
  countedFrom: Date
}

/** More are not read, so that a flood of errors does not make this slow. */
export const errorsReadMax = 100_000

/**
 * The failed requests of a period by cause, most frequent first. The newest are read, up to a limit. Ids begin with their
 * time, so the greatest is that of the newest request.
 */
export const groupErrors = async (
  database: Database,
  { groupsMax, from, to, ...filter }: ErrorFilter,
  hours: number,
): Promise<ErrorGroup[]> => {
  const values: unknown[] = [from, to, groupsMax, errorsReadMax, hours]
  const conditions = ['error_code is not null']
  const given = (column: string, value: string | undefined) => {
    if (value === undefined) return
    values.push(value)
    conditions.push(`${column} = $${values.length}`)
  }
  given('account_id', filter.accountId)
  given('key_id', filter.keyId)
  given('operation', filter.operation)
  given('error_code', filter.errorCode)
  given('model', filter.model)
  given('provider', filter.provider)
  const dayOf = (time: string) => `(${time}::timestamptz at time zone 'utc')::date`
  const { rows } = await database.query<ErrorGroup & Record<string, unknown>>(
    `with failed as materialized (
       select id, at, account_id, key_id, operation, status, error_code, model, provider,
              floor(extract(epoch from $2::timestamptz - at) / 3600)::integer as hours_ago
         from request_log
        where day between ${dayOf('$1')} and ${dayOf('$2')} and at >= $1 and at < $2 and ${conditions.join(' and ')}
        order by at desc, id desc limit $4
     ), of_hours as (
       select error_code, operation, model, provider, jsonb_object_agg(hours_ago, requests) as hours
         from (select error_code, operation, model, provider, hours_ago, count(*) as requests
                 from failed where hours_ago < $5 group by 1, 2, 3, 4, 5) of_hour
        group by 1, 2, 3, 4
     )
     select f.error_code as "errorCode", f.operation, f.model, f.provider, count(*) as count,
            max(f.status) as status,
            count(distinct f.account_id) as accounts, count(distinct f.key_id) as keys,
            count(*) filter (where f.key_id is null) as anonymous,
            min(f.at) as "firstSeen", max(f.at) as "lastSeen",
            max(f.id collate "C") as "exampleId",
            coalesce((select h.hours from of_hours h
                       where h.error_code = f.error_code and h.operation = f.operation
                         and h.model is not distinct from f.model and h.provider is not distinct from f.provider),
                     '{}') as hours,
            count(*) over () as groups, (sum(count(*)) over ())::bigint as total,
            min(min(f.at)) over () as "countedFrom"
       from failed f
      group by f.error_code, f.operation, f.model, f.provider
      order by count desc, "lastSeen" desc limit $3`,
    values,
  )
  return rows
}

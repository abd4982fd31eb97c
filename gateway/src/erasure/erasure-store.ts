import type { Database } from '../platform/postgres.ts'
import type { ErasureEntry } from './erasure-list.ts'

export interface Erasure extends ErasureEntry {
  /** Deleted and emptied rows by table, and the files and jobs whose removal was requested. */
  counts: Record<string, number>
  emptiedAt: Date | null
  finishedAt: Date | null
  certificate: unknown
  /** No request that was in progress at the erasure, and no buffered entry of the request log, adds rows any more. */
  isSettled: boolean
  /** The certificate no longer waits for jobs at providers. */
  isOverdue: boolean
}

const columns = `account_id as "accountId", requested_at as "requestedAt", operator_key_id as "operatorKeyId", counts,
  emptied_at as "emptiedAt", finished_at as "finishedAt", certificate,
  coalesce(emptied_at <= now() - interval '10 minutes', false) as "isSettled",
  requested_at <= now() - interval '1 day' as "isOverdue"`

type Row = Erasure & Record<string, unknown>

export const findErasure = async (database: Database, accountId: string): Promise<Erasure | undefined> => {
  const { rows } = await database.query<Row>(`select ${columns} from erasures where account_id = $1`, [
    accountId,
  ])
  return rows[0]
}

/** Unfinished erasures, oldest first. */
export const unfinishedErasures = async (database: Database): Promise<Erasure[]> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from erasures where finished_at is null order by requested_at`,
  )
  return rows
}

/** Those of these accounts that exist and are not erased. */
export const accountsToErase = async (database: Database, accountIds: string[]): Promise<string[]> => {
  const { rows } = await database.query<{ id: string }>(
    'select id from accounts where id = any($1::uuid[]) and erased_at is null order by id',
    [accountIds],
  )
  return rows.map(({ id }) => id)
}

/**
 * Records the erasure and empties the account, inside a transaction. Returns false if the account does not exist or is erased.
 * A cap of zero refuses the holds of requests that are in progress.
 */
export const markErased = async (database: Database, entry: ErasureEntry): Promise<boolean> => {
  const { rowCount } = await database.query(
    `update accounts set name = '', status = 'suspended', spend_cap_micros = 0, erased_at = now()
      where id = $1 and erased_at is null`,
    [entry.accountId],
  )
  if (rowCount !== 1) return false
  await database.query(
    `insert into erasures (account_id, requested_at, operator_key_id) values ($1, $2, $3)
     on conflict (account_id) do nothing`,
    [entry.accountId, entry.requestedAt, entry.operatorKeyId],
  )
  return true
}

/** Makes the keys of an account useless. The rows stay, because the ledger refers to their ids. Returns their number. */
export const emptyKeys = async (database: Database, accountId: string): Promise<number> => {
  const { rowCount } = await database.query(
    `update keys set name = '', hint = '', hash = sha256(gen_random_uuid()::text::bytea), previous_hash = null, addresses = null, models = null,
                     deleted_at = coalesce(deleted_at, now())
      where account_id = $1 and (deleted_at is null or hint <> '')`,
    [accountId],
  )
  return rowCount ?? 0
}

/** Adds to the counts of an erasure, in the transaction of the deletion. */
export const addCounts = async (
  database: Database,
  accountId: string,
  counts: Record<string, number>,
): Promise<void> => {
  await database.query(
    `update erasures e
        set counts = (select jsonb_object_agg(name, sum)
                        from (select name, sum(value::bigint)
                                from (select * from jsonb_each_text(e.counts)
                                      union all select * from jsonb_each_text($2::jsonb)) each (name, value)
                               group by name) sums)
      where account_id = $1 and $2::jsonb <> '{}'`,
    [accountId, JSON.stringify(counts)],
  )
}

/** Notes that nothing is left now. */
export const markEmptied = async (database: Database, accountId: string): Promise<void> => {
  await database.query(
    'update erasures set emptied_at = clock_timestamp() where account_id = $1 and emptied_at is null',
    [accountId],
  )
}

/** Stores the certificate, unless another worker has done so. */
export const finishErasure = async (
  database: Database,
  accountId: string,
  { finishedAt, certificate }: { finishedAt: Date; certificate: object },
): Promise<void> => {
  await database.query(
    `update erasures set finished_at = $2, certificate = $3 where account_id = $1 and finished_at is null`,
    [accountId, finishedAt, JSON.stringify(certificate)],
  )
}

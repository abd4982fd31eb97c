import type { Database } from '../../platform/postgres.ts'
import type { Price } from '../prices/price.ts'
import type { Instant } from './ledger-store.ts'

/** A task or metered request that has been charged or holds money. */
export interface Charged {
  accountId: string
  keyId: string
  /** The name of the model in the request: its id or an alias. */
  modelName: string
  status: string
  /** The charged quantities; before the end, the held ones. */
  prices: Price[]
  holdMicros: number
  /** Null while it is open. */
  capturedMicros: number | null
  /** Null while no provider has done the work. */
  provider: string | null
  /** What the provider charges; null if unknown. */
  costMicros: number | null
}

interface Wanted {
  id: string
  /** The creation day. */
  day: string
  /** If given, only a task or request of this account. */
  accountId: string | undefined
}

/** What a task or request has left in the usage entries. */
interface Usage extends Omit<Charged, 'holdMicros' | 'capturedMicros'> {
  capturedMicros: number
  /** The day of the entry, which is that of the end. */
  usageDay: string
}

/** Days after the creation in which a task or request without a movement of its end has ended. */
const usualDays = 2

/**
 * The days of the usage entry. The movement that settled a task or request belongs to its creation day, and its time is that of
 * the end: both are written in one transaction, so they are at most a day apart.
 */
const findUsageDays = async (
  database: Database,
  { id, day }: Pick<Wanted, 'id' | 'day'>,
): Promise<{ from: string; to: string }> => {
  const { rows } = await database.query<{ from: string; to: string }>(
    `select coalesce(ended - 1, $1::date) as "from", coalesce(ended + 1, $1::date + ${usualDays}) as "to"
       from (select max(created_at at time zone 'utc')::date as ended from ledger_entries
              where day = $1 and task_id = $2 and movement in ('capture', 'release', 'expiry')) movements`,
    [day, id],
  )
  return rows[0] ?? { from: day, to: day }
}

/**
 * Finds the usage entry of an ended task or request. Entries are partitioned by the day of the end, which the ledger knows, so
 * an id leads to one month, or two at the turn of a month.
 */
export const findUsage = async (
  database: Database,
  { id, day, accountId }: Wanted,
): Promise<Usage | undefined> => {
  const { from, to } = await findUsageDays(database, { id, day })
  const { rows } = await database.query<Usage & Record<string, unknown>>(
    `select account_id as "accountId", key_id as "keyId", coalesce(model_name, model) as "modelName", outcome as status, prices,
            captured_micros as "capturedMicros", provider, cost_micros as "costMicros", day as "usageDay"
       from usage_entries where id = $1 and day between $2 and $3 and ($4::uuid is null or account_id = $4)`,
    [id, from, to, accountId ?? null],
  )
  return rows[0]
}

/** The amount that was held for a task or request, from the ledger. */
const findHold = async (
  database: Database,
  { id, day, accountId }: { id: string; day: string; accountId: string },
): Promise<number> => {
  const { rows } = await database.query<{ holdMicros: number }>(
    `select coalesce(sum(amount_micros), 0)::bigint as "holdMicros" from ledger_entries
      where day = $1 and task_id = $2 and account_id = $3 and movement = 'hold' and book = 'held'`,
    [day, id, accountId],
  )
  return rows[0]?.holdMicros ?? 0
}

/** Finds a task or request. Deleted and expired ones are rebuilt from the usage entries and the ledger. */
export const findCharged = async (database: Database, wanted: Wanted): Promise<Charged | undefined> => {
  const { id, day, accountId } = wanted
  const { rows } = await database.query<Charged & Record<string, unknown>>(
    `select "accountId", "keyId", "modelName", status, prices, "holdMicros", "capturedMicros", provider, "costMicros" from (
       select account_id as "accountId", key_id as "keyId", coalesce(model_name, model) as "modelName", state as status, prices,
              hold_micros as "holdMicros", captured_micros as "capturedMicros", provider, cost_micros as "costMicros"
         from video_tasks where day = $1 and id = $2
       union all
       select account_id, key_id, coalesce(model_name, model), state, prices, hold_micros, captured_micros, provider, cost_micros
         from transcription_tasks where day = $1 and id = $2
       union all
       select account_id, key_id, coalesce(model_name, model), case outcome when 'open' then 'processing' else outcome end,
              coalesce(charged_for, held_for), hold_micros, captured_micros, provider, cost_micros
         from metered_requests where day = $1 and id = $2) charged
      where $3::uuid is null or "accountId" = $3`,
    [day, id, accountId ?? null],
  )
  if (rows[0] !== undefined) return rows[0]
  const usage = await findUsage(database, wanted)
  if (usage === undefined) return undefined
  const { usageDay: _, ...charged } = usage
  return { ...charged, holdMicros: await findHold(database, { id, day, accountId: usage.accountId }) }
}

export interface ReceiptEntry {
  movement: string
  amountMicros: number
  createdAt: Date
}

/** The time of the hold. The ledger has it even after the task was deleted. */
export const findHoldTime = async (
  database: Database,
  { id, day, accountId }: { id: string; day: string; accountId: string },
): Promise<Instant | undefined> => {
  const { rows } = await database.query<{ at: Instant }>(
    `select created_at::text as at from ledger_entries
      where day = $1 and task_id = $2 and account_id = $3 and movement = 'hold' and book = 'held'`,
    [day, id, accountId],
  )
  return rows[0]?.at
}

/** The ledger movements of a task or request, each as the entry on the receiving side. */
export const receiptEntries = async (
  database: Database,
  { id, day, accountId }: { id: string; day: string; accountId: string },
): Promise<ReceiptEntry[]> => {
  const { rows } = await database.query<ReceiptEntry & Record<string, unknown>>(
    `select movement, amount_micros as "amountMicros", created_at as "createdAt" from ledger_entries
      where day = $1 and task_id = $2 and account_id = $3
        and (movement, book) in (('hold', 'held'), ('capture', 'revenue'), ('release', 'available'), ('expiry', 'funding'))
      order by id`,
    [day, id, accountId],
  )
  return rows
}

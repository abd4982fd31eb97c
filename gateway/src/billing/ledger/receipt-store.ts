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

/**
 * Finds a task or request by id and creation day, with `accountId` only one of that account. Deleted and expired ones
 * are rebuilt from the usage entries and the ledger.
 */
export const findCharged = async (
  database: Database,
  { id, day, accountId }: { id: string; day: string; accountId: string | undefined },
): Promise<Charged | undefined> => {
  const { rows } = await database.query<Charged & Record<string, unknown>>(
    `select "accountId", "keyId", "modelName", status, prices, "holdMicros", "capturedMicros", provider, "costMicros" from (
       select account_id as "accountId", key_id as "keyId", coalesce(model_name, model) as "modelName", state as status, prices,
              hold_micros as "holdMicros", captured_micros as "capturedMicros", provider,
              cost_micros as "costMicros", 1 as preference
         from video_tasks where day = $1 and id = $2
       union all
       select account_id, key_id, coalesce(model_name, model), state, prices, hold_micros, captured_micros, provider, cost_micros, 1
         from transcription_tasks where day = $1 and id = $2
       union all
       select account_id, key_id, coalesce(model_name, model), case outcome when 'open' then 'processing' else outcome end,
              coalesce(charged_for, held_for), hold_micros, captured_micros, provider, cost_micros, 1
         from metered_requests where day = $1 and id = $2
       union all
       select account_id, key_id, coalesce(model_name, model), outcome, prices,
              (select coalesce(sum(amount_micros), 0) from ledger_entries l
                where l.day = $1 and l.task_id = $2 and l.account_id = u.account_id
                  and l.movement = 'hold' and l.book = 'held'),
              captured_micros, provider, cost_micros, 2
         from usage_entries u where id = $2) charged
      where $3::uuid is null or "accountId" = $3
      order by preference limit 1`,
    [day, id, accountId ?? null],
  )
  return rows[0]
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

/** Sums of the balances, for metrics. */
import type { Database } from '../platform/postgres.ts'

export interface WalletReading {
  wallet: 'payg' | 'subscription'
  availableMicros: number
  heldMicros: number
  /** The holds of its open tasks and requests. */
  openMicros: number
}

/** In one statement, so that a hold is on both sides or on none. */
export const readWallets = async (database: Database): Promise<WalletReading[]> => {
  const { rows } = await database.query<WalletReading & Record<string, unknown>>(
    `with open_holds as (
       select t.wallet, t.hold_micros
         from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
       union all
       select t.wallet, t.hold_micros
         from open_transcriptions o join transcription_tasks t on t.day = o.day and t.id = o.task_id
       union all
       select wallet, hold_micros from metered_requests where outcome = 'open'
     )
     select b.wallet, sum(b.available_micros) as "availableMicros", sum(b.held_micros) as "heldMicros",
            coalesce((select sum(h.hold_micros) from open_holds h where h.wallet = b.wallet), 0) as "openMicros"
       from balances b group by b.wallet`,
  )
  return rows
}

export interface OldestHolds {
  video: number | null
  transcription: number | null
  request: number | null
}

/** The age of the oldest hold in seconds; null if there is none. */
export const readOldestHolds = async (database: Database): Promise<OldestHolds> => {
  const { rows } = await database.query<OldestHolds & Record<string, unknown>>(
    `select (select extract(epoch from now() - min(accepted_at))::double precision from open_tasks) as video,
            (select extract(epoch from now() - min(accepted_at))::double precision from open_transcriptions) as transcription,
            (select extract(epoch from now() - min(created_at))::double precision from metered_requests
              where outcome = 'open') as request`,
  )
  return rows[0] ?? { video: null, transcription: null, request: null }
}

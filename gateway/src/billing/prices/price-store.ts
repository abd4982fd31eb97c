import type { Database } from '../../platform/postgres.ts'
import type { PriceUnit } from './price.ts'

/** A price set by an operator. */
export interface SetPrice {
  id: string
  model: string
  unit: PriceUnit
  /** Width x height; null applies to every size. */
  resolution: string | null
  unitMicros: number
  version: number
  startsAt: Date
  actor: string
}

const columns = `id, model, unit, resolution, unit_micros as "unitMicros", version, starts_at as "startsAt", actor`

type Row = SetPrice & Record<string, unknown>

/** All prices, including future ones, which take effect by time alone. */
export const readPrices = async (database: Database): Promise<SetPrice[]> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from prices order by model, unit, resolution nulls first, version`,
  )
  return rows
}

/** Inserts a price as the next version for its model, unit, and resolution. Concurrent inserts are serialized. */
export const insertPrice = async (
  database: Database,
  price: Omit<SetPrice, 'version'>,
): Promise<SetPrice> => {
  const { id, model, unit, resolution, unitMicros, startsAt, actor } = price
  await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:prices', 0))`)
  const { rows } = await database.query<Row>(
    `insert into prices (id, model, unit, resolution, unit_micros, version, starts_at, actor)
     select $1, $2, $3, $4, $5, coalesce(max(version), 0) + 1, $6, $7
       from prices where model = $2 and unit = $3 and resolution is not distinct from $4
     returning ${columns}`,
    [id, model, unit, resolution, unitMicros, startsAt, actor],
  )
  const [set] = rows
  if (set === undefined) throw new Error('The price was not inserted.')
  return set
}

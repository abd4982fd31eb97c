import type { PriceConditions, PriceUnit } from '../../models/price-rule.ts'
import type { Database } from '../../platform/postgres.ts'

/** A price set by an operator. */
export interface SetPrice extends PriceConditions {
  id: string
  model: string
  unit: PriceUnit
  unitMicros: number
  version: number
  startsAt: Date
  actor: string
}

const columns = `id, model, unit, resolution, sound, input, unit_micros as "unitMicros", version, starts_at as "startsAt", actor`

type Row = SetPrice & Record<string, unknown>

/** All prices, including future ones, which take effect by time alone. */
export const readPrices = async (database: Database): Promise<SetPrice[]> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from prices order by model, unit, resolution nulls first, sound nulls first, input nulls first, version`,
  )
  return rows
}

/** Inserts a price as the next version for its model, unit, and conditions. Concurrent inserts are serialized. */
export const insertPrice = async (
  database: Database,
  price: Omit<SetPrice, 'version'>,
): Promise<SetPrice> => {
  const { id, model, unit, resolution, sound, input, unitMicros, startsAt, actor } = price
  await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:prices', 0))`)
  const { rows } = await database.query<Row>(
    `insert into prices (id, model, unit, resolution, sound, input, unit_micros, version, starts_at, actor)
     select $1, $2, $3, $4, $5, $6, $7, coalesce(max(version), 0) + 1, $8, $9
       from prices where model = $2 and unit = $3 and resolution is not distinct from $4
        and sound is not distinct from $5::boolean and input is not distinct from $6
     returning ${columns}`,
    [id, model, unit, resolution, sound, input, unitMicros, startsAt, actor],
  )
  const [set] = rows
  if (set === undefined) throw new Error('The price was not inserted.')
  return set
}

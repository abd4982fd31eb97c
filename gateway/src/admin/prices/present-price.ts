import type { PriceVersion } from '@kinora/contract/operations/admin/prices'

import type { PriceInForce } from '../../billing/prices/price-list.ts'
import { secondsOf } from '../unix-time.ts'

export const presentPrice = (price: PriceInForce, currency: string): PriceVersion => ({
  id: price.id ?? null,
  object: 'price',
  model: price.model,
  unit: price.unit,
  resolution: price.resolution,
  sound: price.sound,
  input: price.input,
  unit_micros: price.unitMicros,
  currency,
  version: price.version,
  starts_at: price.startsAt === undefined ? null : secondsOf(price.startsAt),
  actor: price.actor ?? null,
  source: price.source,
})

import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { PriceBody } from '@kinora/contract/operations/admin/prices'

import type { PriceList } from '../../billing/prices/price-list.ts'
import { insertPrice } from '../../billing/prices/price-store.ts'
import type { Catalog } from '../../models/catalog.ts'
import { resolutionsOf } from '../../models/frame.ts'
import type { ModelConfig } from '../../models/model.ts'
import { unitsOfKinds, videoInputs, type PriceUnit } from '../../models/price-rule.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { actorOf } from '../audit-log/audit.ts'
import { readAmounts } from '../read-amounts.ts'
import { timeOfSeconds } from '../unix-time.ts'
import { presentPrice } from './present-price.ts'

/** The tolerated clock difference of a caller. */
const clockSkewMs = 60_000

const refuse = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

const unitOf = (entry: ModelConfig, given: string) => {
  const units: readonly PriceUnit[] = unitsOfKinds[entry.kind]
  const unit = units.find((each) => each === given)
  if (unit === undefined)
    throw refuse('unit', `'${entry.id}' is priced by ${units.join(' or ')}, not by ${given}.`)
  return unit
}

const resolutionOf = (entry: ModelConfig, given: string | null | undefined): string | null => {
  if (given === undefined || given === null) return null
  const sizes = entry.kind === 'video' ? resolutionsOf(entry) : []
  const lines = sizes.map((size) => `${Math.min(...size.split('x').map(Number))}p`)
  const names = [...sizes, ...new Set(lines)]
  if (names.includes(given)) return given
  throw refuse(
    'resolution',
    names.length === 0
      ? `'${entry.id}' has no resolutions; leave 'resolution' out.`
      : `'${entry.id}' supports ${names.join(', ')}, not ${given}.`,
  )
}

/** Only videos have sound and inputs. */
const assertVideo = (entry: ModelConfig, given: Record<string, unknown>) => {
  const [param] = Object.keys(given).filter((name) => given[name] !== null && given[name] !== undefined)
  if (param === undefined || entry.kind === 'video') return
  throw refuse(param, `The prices of '${entry.id}' cannot depend on '${param}'; leave it out.`)
}

/** Prices apply to future orders only, so they cannot start in the past. */
const startOf = (given: number | undefined): Date => {
  const now = new Date()
  if (given === undefined) return now
  const at = timeOfSeconds(given)
  if (at.getTime() < now.getTime() - clockSkewMs)
    throw refuse('starts_at', "'starts_at' must not be in the past.")
  return at
}

export const setPrice =
  ({
    postgres,
    catalog,
    prices,
  }: {
    postgres: Postgres
    catalog: Catalog
    prices: PriceList
  }): AdminHandler<typeof adminOperations.setPrice> =>
  async (call) => {
    const given = readAmounts(call, PriceBody, call.operator.currency)
    const entry = catalog.find(given.model)
    assertVideo(entry, { sound: given.sound, input: given.input })
    const price = {
      id: uuidV7(),
      model: entry.id,
      unit: unitOf(entry, given.unit),
      resolution: resolutionOf(entry, given.resolution),
      sound: given.sound ?? null,
      input: videoInputs.find((each) => each === given.input) ?? null,
      unitMicros: given.unit_micros,
      startsAt: startOf(given.starts_at),
      actor: actorOf(call.operator),
    }
    const body = await postgres.transaction(async (database) => {
      const set = await insertPrice(database, price)
      const after = presentPrice({ ...set, source: 'operator' }, call.operator.currency)
      await call.audit(database, { action: 'setPrice', target: entry.id, after })
      return after
    })
    await prices.refresh()
    return { body }
  }

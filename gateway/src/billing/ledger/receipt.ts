/** Receipts of tasks and requests, read from the records and the ledger. */
import type { PriceLine, Receipt } from '@kinora/contract/operations/account'

import { priceUnits } from '../../models/price-rule.ts'
import { timeOfUuidV7 } from '../../platform/ids/uuid.ts'
import type { Database } from '../../platform/postgres.ts'
import { formatQuantity, type Price } from '../prices/price.ts'
import { findCharged, receiptEntries, type Charged } from './receipt-store.ts'
import { listRefunds } from './refund-store.ts'

// Every id either ends in a UUID v7, which contains its time, or has the Unix time after the model.
const uuidAtEnd = /_([0-9a-f-]{36})$/
const secondsInside = /:(?:remix-)?(\d{10})-/

/** The creation day (UTC) that an id contains; undefined if the text is not an id. */
export const dayOfId = (id: string): string | undefined => {
  const uuid = uuidAtEnd.exec(id)?.[1]
  const seconds = secondsInside.exec(id)?.[1]
  const atMs =
    uuid !== undefined ? timeOfUuidV7(uuid) : seconds === undefined ? undefined : Number(seconds) * 1000
  if (atMs === undefined) return undefined
  const at = new Date(atMs)
  return at.getUTCFullYear() > 9_999 ? undefined : at.toISOString().slice(0, 10)
}

export const priceLine = (
  { unit, unitMicros, quantity, totalMicros, version, resolution, sound, input }: Price,
  currency: string,
): PriceLine => ({
  unit,
  unit_micros: unitMicros,
  quantity: formatQuantity(quantity * priceUnits[unit].counted),
  unit_size: priceUnits[unit].counted,
  total_micros: totalMicros,
  currency,
  ...(version !== undefined && { version }),
  ...(resolution !== undefined && { resolution }),
  ...(sound !== undefined && { sound }),
  ...(input !== undefined && { input }),
})

/** Undefined if the task or request does not exist or, with `accountId`, belongs to another account. */
export const readReceipt = async (
  database: Database,
  { id, currency, accountId }: { id: string; currency: string; accountId?: string | undefined },
): Promise<{ receipt: Receipt; charged: Charged } | undefined> => {
  const day = dayOfId(id)
  if (day === undefined) return undefined
  const charged = await findCharged(database, { id, day, accountId })
  if (charged === undefined) return undefined
  const { holdMicros, capturedMicros } = charged
  const refunds = await listRefunds(database, id)
  const entries = [
    ...(await receiptEntries(database, { id, day, accountId: charged.accountId })),
    ...refunds.map(({ amountMicros, createdAt }) => ({ movement: 'refund', amountMicros, createdAt })),
  ]
  const receipt: Receipt = {
    object: 'receipt',
    id,
    model: charged.modelName,
    status: charged.status,
    lines: charged.prices.map((price) => priceLine(price, currency)),
    hold_micros: holdMicros,
    captured_micros: capturedMicros,
    released_micros: capturedMicros === null ? null : holdMicros - capturedMicros,
    refunded_micros: refunds.reduce((sum, { amountMicros }) => sum + amountMicros, 0),
    currency,
    entries: entries.map((entry) => ({
      movement: entry.movement,
      amount_micros: entry.amountMicros,
      currency,
      created_at: Math.floor(entry.createdAt.getTime() / 1000),
    })),
  }
  return { receipt, charged }
}

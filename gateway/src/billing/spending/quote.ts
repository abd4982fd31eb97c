import { ApiError } from '@kinora/contract/errors'
/**
 * What a request would cost and whether it would be let through: found out by doing it and taking it back, so that a
 * quote and the real thing can never disagree.
 */
import type { Quote } from '@kinora/contract/operations/account'

import type { Caller } from '../../auth/caller.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { priceLine } from '../ledger/receipt.ts'
import { totalOf, type Price } from '../prices/price.ts'
import { placeHolds } from './spend.ts'

interface QuotedOrder {
  caller: Caller
  model: string | null
  /** The most it can cost. */
  heldFor: Price[]
  /** The request as it was understood. */
  parameters: Record<string, unknown>
}

/** Ends a transaction in which something was only tried. */
class TakenBack extends Error {
  override name = 'TakenBack'
  readonly refusal: ApiError | undefined
  constructor(refusal: ApiError | undefined) {
    super('tried and taken back')
    this.refusal = refusal
  }
}

/** `refuse` is what else may keep the request from being accepted, asked before the money is. */
export const quoteOf = async (
  postgres: Postgres,
  { caller, model, heldFor, parameters }: QuotedOrder,
  refuse: (database: Database) => Promise<ApiError | undefined> = async () => undefined,
): Promise<Quote> => {
  const amountMicros = totalOf(heldFor)
  const nowMs = Date.now()
  const hold = {
    caller,
    taskId: `quote_${nowMs}`,
    day: new Date(nowMs).toISOString().slice(0, 10),
    amountMicros,
  }
  const tried = async (database: Database): Promise<never> => {
    const refusal = await refuse(database)
    if (refusal !== undefined) throw new TakenBack(refusal)
    const { refusals } = await placeHolds(database, [hold])
    throw new TakenBack(refusals[0])
  }
  const refusal = await postgres.transaction<ApiError | undefined>(tried).catch((error: unknown) => {
    if (error instanceof TakenBack) return error.refusal
    throw error
  })
  return {
    object: 'quote',
    model,
    parameters,
    lines: heldFor.map((price) => priceLine(price, caller.currency)),
    total_micros: amountMicros,
    currency: caller.currency,
    fits: refusal === undefined,
    refusal: refusal === undefined ? null : { code: refusal.code, message: refusal.message },
  }
}

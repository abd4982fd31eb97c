/**
 * Quotes: the cost of a request, and whether it would be accepted. A quote places the real hold and rolls it back, so
 * that it cannot disagree with the request itself.
 */
import type { ApiError } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'

import type { Caller } from '../../auth/caller.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { priceLine } from '../ledger/receipt.ts'
import { totalOf, type Price } from '../prices/price.ts'
import { placeHolds } from './spend.ts'

interface QuotedOrder {
  caller: Caller
  model: string | null
  /** The maximum cost. */
  heldFor: Price[]
  /** The resolved request. */
  parameters: Record<string, unknown>
}

/** Thrown to roll back the transaction of a quote. */
class QuoteRollback extends Error {
  override name = 'QuoteRollback'
  readonly refusal: ApiError | undefined
  constructor(refusal: ApiError | undefined) {
    super('The quote was rolled back.')
    this.refusal = refusal
  }
}

/** `refuse` returns a refusal for other reasons than money. It runs before the hold. */
export const quoteOf = async (
  postgres: Postgres,
  { caller, model, heldFor, parameters }: QuotedOrder,
  refuse: (database: Database) => Promise<ApiError | undefined> = async () => undefined,
): Promise<Quote> => {
  const amountMicros = totalOf(heldFor)
  const taskAt = (atMs: number) => ({
    id: `quote_${atMs}`,
    day: new Date(atMs).toISOString().slice(0, 10),
  })
  const hold = { caller, taskAt, amountMicros }
  const tryHold = async (database: Database): Promise<never> => {
    const refusal = await refuse(database)
    if (refusal !== undefined) throw new QuoteRollback(refusal)
    const { refusals } = await placeHolds(database, [hold])
    throw new QuoteRollback(refusals[0])
  }
  const refusal = await postgres.transaction<ApiError | undefined>(tryHold).catch((error: unknown) => {
    if (error instanceof QuoteRollback) return error.refusal
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

/**
 * Charges synchronous requests by usage. The maximum cost is held before the provider is called; afterwards the used
 * amount is captured and the rest is released, exactly once. Requests that start or end at the same time share a commit.
 */
import type { Metadata } from '@kinora/contract/metadata'
import type { Quote } from '@kinora/contract/operations/account'

import type { Caller } from '../../auth/caller.ts'
import type { ModelConfig } from '../../models/model.ts'
import type { PriceRule } from '../../models/price-rule.ts'
import { batch, fulfilled, rejected, splitOnLockTimeout } from '../../platform/batch.ts'
import { createRequestId, timeOfRequestId } from '../../platform/ids/request-id.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { holdForRequests } from '../ledger/ledger-store.ts'
import {
  extendLeases,
  findAbandonedRequests,
  finishMeteredRequests,
  insertMeteredRequests,
  type MeteredEnding,
  type MeteredOutcome,
  type NewMeteredRequest,
  type OpenRequest,
} from '../ledger/metered-request-store.ts'
import { costOf, totalOf, workOf, type Price } from '../prices/price.ts'
import { quoteOf } from '../spending/quote.ts'
import { placeHolds, walletOf, settleHolds } from '../spending/spend.ts'

/** Tests set shorter times. */
export interface MeterTimes {
  /** A request whose lease was not extended for this long is abandoned. */
  leaseSeconds: number
  extendEveryMs: number
}

// A charge that nobody waits for is written together with those of this time.
const gatherMs = 100

const defaultTimes: MeterTimes = { leaseSeconds: 300, extendEveryMs: 60_000 }

interface MeteredOrder {
  caller: Caller
  /** The request id of the response, `req_` and a UUID v7. Callers read the receipt with it. */
  requestId?: string
  /** Aborted when the client disconnects, unless its response is stored for an idempotent replay. */
  signal?: AbortSignal
  operation: string
  model: Pick<ModelConfig, 'id' | 'name'>
  provider: string
  /** The caller's own data. */
  metadata?: Metadata | undefined
  /** The maximum cost. */
  heldFor: Price[]
}

/** The provider of a request, and what it charges, if that is configured. */
interface ServingRoute {
  provider: { name: string }
  costs: PriceRule[] | undefined
}

export interface Metered {
  id: string
  /** Records the provider that serves the request, and its costs. */
  servedBy: (route: ServingRoute) => void
  /**
   * Ends the request. Only the first call counts. The charge never exceeds the hold. If nobody waits for the result, the
   * request may be ended with others a moment later.
   */
  settle: (
    outcome: Exclude<MeteredOutcome, 'abandoned'>,
    chargedFor: Price[],
    when?: 'now' | 'soon',
  ) => Promise<void>
}

export interface Meter {
  /** The cost of a request, and whether it would be accepted. */
  quote: (order: MeteredOrder, parameters: Record<string, unknown>) => Promise<Quote>
  /** Places the hold, or throws the matching 402 error. */
  open: (order: MeteredOrder) => Promise<Metered>
  /** Releases the holds of requests whose process died; returns their number. */
  releaseAbandoned: () => Promise<number>
  /** Resolves once no request is being served, including those of disconnected clients. */
  drain: () => Promise<void>
  close: () => Promise<void>
}

const newRequest = ({
  caller,
  heldFor,
  requestId,
  operation,
  model,
  provider,
  metadata,
}: MeteredOrder): NewMeteredRequest => {
  const id = requestId ?? createRequestId()
  const createdAt = new Date(timeOfRequestId(id) ?? Date.now())
  return {
    ...{ operation, model: model.id, modelName: model.name, provider, metadata },
    id,
    day: createdAt.toISOString().slice(0, 10),
    createdAt,
    accountId: caller.accountId,
    keyId: caller.keyId,
    wallet: walletOf(caller),
    heldFor,
    holdMicros: totalOf(heldFor),
  }
}

export const createMeter = (
  { postgres, log }: { postgres: Postgres; log: Log },
  { leaseSeconds, extendEveryMs }: MeterTimes = defaultTimes,
): Meter => {
  /** Requests that this process has opened and not ended. */
  const open = new Map<string, OpenRequest>()
  /** Endings that could not be written yet. */
  const unwritten = new Map<string, MeteredEnding>()
  const settling = new Set<Promise<void>>()
  let onIdle: (() => void) | undefined
  /** Unwritten endings do not count: they are retried in the background. */
  const isIdle = () => open.size === unwritten.size

  type Candidate = { request: NewMeteredRequest; caller: Caller }

  /** The fast path, for requests without other limits than their wallet. Returns whether each was opened. */
  const openPlainTogether = async (
    candidates: Candidate[],
    { lockTimeoutMsMax }: { lockTimeoutMsMax: number },
  ): Promise<PromiseSettledResult<boolean>[]> => {
    const held = await holdForRequests(
      postgres,
      'payg',
      candidates.map(({ request }) => request),
      { leaseSeconds, lockTimeoutMs: postgres.lockTimeoutMsAtMost(lockTimeoutMsMax) },
    )
    return candidates.map(({ request }) => fulfilled(held.has(request.accountId)))
  }

  const openTogether = async (
    candidates: Candidate[],
    options: { lockTimeoutMsMax: number },
  ): Promise<PromiseSettledResult<void>[]> => {
    const place = async (database: Database) => {
      const { refusals } = await placeHolds(
        database,
        candidates.map(({ request, caller }) => ({
          caller,
          taskAt: () => request,
          amountMicros: request.holdMicros,
        })),
      )
      await insertMeteredRequests(
        database,
        candidates.flatMap(({ request }, index) => (refusals[index] === undefined ? request : [])),
        leaseSeconds,
      )
      return refusals.map((refusal) => (refusal === undefined ? fulfilled(undefined) : rejected(refusal)))
    }
    // If the database crashes, the hold and its request are lost together: the ledger stays correct.
    return postgres.transaction(place, { isDurable: false, ...options })
  }

  const endTogether = (
    endings: MeteredEnding[],
    options: { lockTimeoutMsMax: number },
  ): Promise<PromiseSettledResult<boolean>[]> =>
    postgres.transaction(async (database) => {
      const ended = await finishMeteredRequests(database, endings)
      await settleHolds(
        database,
        endings.flatMap(({ request, capturedMicros }) =>
          ended.has(request.id) ? { ...request, taskId: request.id, captureMicros: capturedMicros } : [],
        ),
      )
      return endings.map(({ request }) => fulfilled(ended.has(request.id)))
    }, options)

  const accountOf = ({ request }: Candidate | MeteredEnding) => request.accountId
  const limits = { name: 'meter_end', inFlightMax: 4, sizeMax: 100, lockOf: accountOf } as const
  const opening = { ...limits, name: 'meter_open' } as const
  const openPlain = batch(splitOnLockTimeout(openPlainTogether, accountOf, { failsFast: true }), opening)
  const openWithLimits = batch(splitOnLockTimeout(openTogether, accountOf, { failsFast: true }), opening)
  const endNow = batch(splitOnLockTimeout(endTogether, accountOf), limits)
  const endSoon = batch(splitOnLockTimeout(endTogether, accountOf), { ...limits, gatherMs })

  const openOne = async (candidate: Candidate): Promise<void> => {
    const { kind, hasQuota } = candidate.caller
    // A wallet that does not cover its requests is opened like one with limits, which explains the refusal.
    if (kind !== 'payg' || hasQuota || !(await openPlain(candidate))) await openWithLimits(candidate)
  }

  const end = async (ending: MeteredEnding, endOne = endNow): Promise<void> => {
    const { id } = ending.request
    try {
      if (!(await endOne(ending))) log.warn({ request: id }, 'meter.settled-before')
      open.delete(id)
      unwritten.delete(id)
    } catch (error) {
      // Retried later. If this process dies first, the lease expires and the customer is not charged.
      unwritten.set(id, ending)
      log.error({ err: error, request: id }, 'meter.not-settled')
    }
    if (isIdle()) onIdle?.()
  }

  const settle = (ending: MeteredEnding, endOne = endNow): Promise<void> => {
    const ended = end(ending, endOne).finally(() => settling.delete(ended))
    settling.add(ended)
    return ended
  }

  const extending = setInterval(() => {
    if (open.size === 0) return
    extendLeases(postgres, [...open.values()], leaseSeconds).catch((error: unknown) =>
      log.warn({ err: error }, 'meter.not-extended'),
    )
    for (const ending of unwritten.values()) void settle(ending)
  }, extendEveryMs)
  extending.unref()

  return {
    quote: ({ caller, model, heldFor }, parameters) =>
      quoteOf(postgres, { caller, model: model.name, heldFor, parameters }),
    open: async (order) => {
      const request = newRequest(order)
      // From here on `drain` waits for it.
      open.set(request.id, request)
      try {
        await openOne({ request, caller: order.caller })
      } catch (error) {
        open.delete(request.id)
        if (isIdle()) onIdle?.()
        throw error
      }
      let ending: Promise<void> | undefined
      let { provider } = order
      let costs: PriceRule[] | undefined
      return {
        id: request.id,
        servedBy: (route) => {
          provider = route.provider.name
          costs = route.costs
        },
        settle: (outcome, chargedFor, when = 'now') => {
          const capturedMicros = Math.min(totalOf(chargedFor), request.holdMicros)
          const costMicros = costOf(costs, workOf(chargedFor))
          ending ??= settle(
            { request, provider, outcome, chargedFor, capturedMicros, costMicros },
            when === 'soon' ? endSoon : endNow,
          )
          return ending
        },
      }
    },
    releaseAbandoned: async () => {
      const abandoned = await findAbandonedRequests(postgres, 100)
      const ended = await Promise.all(
        abandoned.map((request) =>
          endNow({ request, outcome: 'abandoned', chargedFor: [], capturedMicros: 0 }),
        ),
      )
      return ended.filter(Boolean).length
    },
    drain: () =>
      new Promise((resolve) => {
        if (isIdle()) resolve()
        else onIdle = resolve
      }),
    close: async () => {
      clearInterval(extending)
      await Promise.all(settling)
      await Promise.all([...unwritten.values()].map((ending) => end(ending)))
    },
  }
}

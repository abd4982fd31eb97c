/**
 * Charges for what is answered while the caller waits. Money is held before a provider is asked, for the most the
 * request can cost; afterwards what was used is captured and the rest goes back, once, whatever happens. Requests
 * that come or end together share a commit.
 */
import type { Quote } from '@kinora/contract/operations/account'

import type { Caller } from '../../auth/caller.ts'
import { batch, fulfilled, rejected } from '../../platform/batch.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { timeOfUuidV7, uuidV7 } from '../../platform/uuid.ts'
import { holdForRequests } from '../ledger/ledger-store.ts'
import {
  finishMeteredRequests,
  insertMeteredRequests,
  lapsedRequests,
  prolongMeteredRequests,
  type MeteredEnding,
  type MeteredOutcome,
  type NewMeteredRequest,
  type OpenRequest,
} from '../ledger/metered-request-store.ts'
import { totalOf, type Price } from '../prices/price.ts'
import { quoteOf } from '../spending/quote.ts'
import { placeHolds, walletOf, settleHolds } from '../spending/spend.ts'

/** What a meter is given in tests alone; a minute is too long to wait there. */
export interface MeterTimes {
  /** A process that was silent for this long serves nothing any more. */
  lapseSeconds: number
  prolongEveryMs: number
}

const usualTimes: MeterTimes = { lapseSeconds: 300, prolongEveryMs: 60_000 }

interface MeteredOrder {
  caller: Caller
  /** Of the reply, `req_` and a UUID with its time: the caller asks by it for the receipt. */
  requestId?: string
  /** The client's: aborted when it disconnects and its reply is not kept for it. */
  signal?: AbortSignal
  operation: string
  model: string
  provider: string
  /** The most it can cost. */
  heldFor: Price[]
}

export interface Metered {
  id: string
  /** Tells who was asked in the end, where that is not whom the money was held for. */
  servedBy: (provider: string) => void
  /** Ends it; the first call counts. What was used costs no more than what was held. */
  settle: (outcome: Exclude<MeteredOutcome, 'abandoned'>, chargedFor: Price[]) => Promise<void>
}

export interface Meter {
  /** What it would cost, and whether it would be let through. */
  quote: (order: MeteredOrder, parameters: Record<string, unknown>) => Promise<Quote>
  /** Holds the money, or throws the right 402. */
  open: (order: MeteredOrder) => Promise<Metered>
  /** Gives up the requests of processes that are gone; answers how many there were. */
  releaseLapsed: () => Promise<number>
  /** Resolves once nothing is served any more, also for clients that have disconnected. */
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
}: MeteredOrder): NewMeteredRequest => {
  const id = requestId ?? `req_${uuidV7()}`
  return {
    ...{ operation, model, provider },
    id,
    day: new Date(timeOfUuidV7(id.slice('req_'.length)) ?? Date.now()).toISOString().slice(0, 10),
    accountId: caller.accountId,
    keyId: caller.keyId,
    wallet: walletOf(caller),
    heldFor,
    holdMicros: totalOf(heldFor),
  }
}

export const createMeter = (
  { postgres, log }: { postgres: Postgres; log: Log },
  { lapseSeconds, prolongEveryMs }: MeterTimes = usualTimes,
): Meter => {
  /** Whatever this process has opened and not ended. */
  const served = new Map<string, OpenRequest>()
  /** How those of them ended whose end could not be written yet. */
  const unwritten = new Map<string, MeteredEnding>()
  const settling = new Set<Promise<void>>()
  let onIdle: (() => void) | undefined
  /** Nothing is served any more; what could not be written is tried again by itself. */
  const isIdle = () => served.size === unwritten.size

  type Candidate = { request: NewMeteredRequest; caller: Caller }

  /** The short way, for requests that spend from one wallet with nothing but its balance to look at. */
  const openAtOnce = async (candidates: Candidate[]): Promise<boolean> => {
    const [first, ...others] = candidates.map(({ caller }) => caller)
    if (first === undefined || others.some(({ accountId }) => accountId !== first.accountId)) return false
    if (candidates.some(({ caller }) => caller.kind !== 'payg' || caller.hasQuota)) return false
    return holdForRequests(
      postgres,
      { accountId: first.accountId, wallet: 'payg' },
      candidates.map(({ request }) => request),
      lapseSeconds,
    )
  }

  const openTogether = async (candidates: Candidate[]): Promise<PromiseSettledResult<void>[]> => {
    if (await openAtOnce(candidates)) return candidates.map(() => fulfilled(undefined))
    const open = async (database: Database) => {
      const { refusals } = await placeHolds(
        database,
        candidates.map(({ request, caller }) => ({
          caller,
          taskId: request.id,
          day: request.day,
          amountMicros: request.holdMicros,
        })),
      )
      await insertMeteredRequests(
        database,
        candidates.flatMap(({ request }, index) => (refusals[index] === undefined ? request : [])),
        lapseSeconds,
      )
      return refusals.map((refusal) => (refusal === undefined ? fulfilled(undefined) : rejected(refusal)))
    }
    // A hold lost in a crash of the database is lost with its request: that one goes uncharged, and the books are right.
    return postgres.transaction(open, { isDurable: false })
  }

  const endTogether = (endings: MeteredEnding[]): Promise<PromiseSettledResult<boolean>[]> =>
    postgres.transaction(async (database) => {
      const ended = await finishMeteredRequests(database, endings)
      await settleHolds(
        database,
        endings.flatMap(({ request, capturedMicros }) =>
          ended.has(request.id) ? { ...request, taskId: request.id, captureMicros: capturedMicros } : [],
        ),
      )
      return endings.map(({ request }) => fulfilled(ended.has(request.id)))
    })

  const openOne = batch(openTogether, { inFlightMax: 2, sizeMax: 100 })
  const endOne = batch(endTogether, { inFlightMax: 2, sizeMax: 100 })

  const end = async (ending: MeteredEnding): Promise<void> => {
    const { id } = ending.request
    try {
      if (!(await endOne(ending))) log.warn({ request: id }, 'meter.settled-before')
      served.delete(id)
      unwritten.delete(id)
    } catch (error) {
      // It is tried again; should this process die first, it lapses, and the customer is not charged.
      unwritten.set(id, ending)
      log.error({ err: error, request: id }, 'meter.not-settled')
    }
    if (isIdle()) onIdle?.()
  }

  const settle = (ending: MeteredEnding): Promise<void> => {
    const underWay = end(ending).finally(() => settling.delete(underWay))
    settling.add(underWay)
    return underWay
  }

  const prolonging = setInterval(() => {
    if (served.size === 0) return
    prolongMeteredRequests(postgres, [...served.values()], lapseSeconds).catch((error: unknown) =>
      log.warn({ err: error }, 'meter.not-extended'),
    )
    for (const ending of unwritten.values()) void settle(ending)
  }, prolongEveryMs)
  prolonging.unref()

  return {
    quote: ({ caller, model, heldFor }, parameters) =>
      quoteOf(postgres, { caller, model, heldFor, parameters }),
    open: async (order) => {
      const request = newRequest(order)
      // Counted from here on, so that a process that stops waits for it.
      served.set(request.id, request)
      try {
        await openOne({ request, caller: order.caller })
      } catch (error) {
        served.delete(request.id)
        if (isIdle()) onIdle?.()
        throw error
      }
      let ending: Promise<void> | undefined
      let { provider } = order
      return {
        id: request.id,
        servedBy: (name) => {
          provider = name
        },
        settle: (outcome, chargedFor) => {
          const capturedMicros = Math.min(totalOf(chargedFor), request.holdMicros)
          ending ??= settle({ request, provider, outcome, chargedFor, capturedMicros })
          return ending
        },
      }
    },
    releaseLapsed: async () => {
      const lapsed = await lapsedRequests(postgres, 100)
      const ended = await Promise.all(
        lapsed.map((request) => endOne({ request, outcome: 'abandoned', chargedFor: [], capturedMicros: 0 })),
      )
      return ended.filter(Boolean).length
    },
    drain: () =>
      new Promise((resolve) => {
        if (isIdle()) resolve()
        else onIdle = resolve
      }),
    close: async () => {
      clearInterval(prolonging)
      await Promise.all(settling)
      await Promise.all([...unwritten.values()].map(end))
    },
  }
}

/**
 * Slots for synchronous calls to providers: speech, transcription, translation and audio chat. A provider has as many in
 * each process as its `concurrency`. An account uses at most as many as stay free, so there is a slot for the next
 * account, and waiting accounts are served round robin. A call waits for a short time before it is refused.
 */
import { ApiError } from '@kinora/contract/errors'

import { observe } from '../platform/metrics/metrics.ts'
import { rejection } from '../platform/metrics/rejections.ts'
import type { ScopeLimits } from './admission.ts'
import { createFairQueue, type ObservedQueue, type Submitter } from './fair-queue.ts'

export interface ProviderSlot {
  release: () => void
  /** Whether another account waits for a slot of this provider. */
  isWanted: () => boolean
}

interface LimitedProvider {
  name: string
  /** Synchronous calls that may be in flight at once. */
  concurrency: number
}

/** Waits for a slot. Rejects with 429 or 503, or with the reason of the signal. */
export type ProviderSlots = (
  provider: LimitedProvider,
  submitter: Submitter,
  signal: AbortSignal,
) => Promise<ProviderSlot>

interface Queue {
  concurrency: number
  run: ObservedQueue
  /** The waiting calls of each account. */
  waiting: Map<string, number>
}

/** Running and waiting calls, as multiples of the concurrency. */
const inFlightFactors = { account: 2, total: 8 }
const slotRetrySeconds = 5
const defaultWaitMsMax = 15_000

const overloaded = () =>
  rejection(
    'provider_slots',
    new ApiError('model_overloaded', {
      message: `Too many requests are being processed at the moment. Try again in ${slotRetrySeconds} s.`,
      headers: { 'retry-after': String(slotRetrySeconds) },
    }),
  )

const refusalOf = (scope: keyof ScopeLimits, limit: number) =>
  scope === 'total'
    ? overloaded()
    : rejection(
        'provider_slots',
        new ApiError('rate_limit_exceeded', {
          message: `Concurrency limit reached: ${limit} synchronous audio and chat requests for this ${scope}. Try again in ${slotRetrySeconds} s, or when one of them has finished.`,
          headers: { 'retry-after': String(slotRetrySeconds) },
        }),
      )

export const createProviderSlots = ({ waitMsMax = defaultWaitMsMax } = {}): ProviderSlots => {
  const queues = new Map<string, Queue>()
  observe('kinora.provider.slots.used', () =>
    [...queues].map(([name, { run }]) => [
      run.entries().running,
      { 'gen_ai.provider.name': name, slot: 'call' },
    ]),
  )

  const queueOf = ({ name, concurrency }: LimitedProvider): Queue => {
    const known = queues.get(name)
    if (known?.concurrency === concurrency) return known
    const account = concurrency * inFlightFactors.account
    const inFlight = { account, key: account, address: Infinity, total: concurrency * inFlightFactors.total }
    const limits = { concurrency, runningPerAccount: (free: number) => free, inFlight }
    // After a change of the configuration, the calls under way are not counted in the new queue.
    const queue = { concurrency, run: createFairQueue(limits, refusalOf), waiting: new Map() }
    queues.set(name, queue)
    return queue
  }

  return (provider, submitter, signal) =>
    new Promise((resolve, reject) => {
      const { run, waiting } = queueOf(provider)
      const { accountId } = submitter
      const late = new AbortController()
      const timer = setTimeout(() => late.abort(overloaded()), waitMsMax)
      waiting.set(accountId, (waiting.get(accountId) ?? 0) + 1)
      let isWaiting = true
      const stopWaiting = () => {
        if (!isWaiting) return
        isWaiting = false
        clearTimeout(timer)
        const left = (waiting.get(accountId) ?? 1) - 1
        if (left === 0) waiting.delete(accountId)
        else waiting.set(accountId, left)
      }
      const hold = () => {
        stopWaiting()
        return new Promise<void>((release) => {
          resolve({ release, isWanted: () => waiting.keys().some((each) => each !== accountId) })
        })
      }
      run(submitter, AbortSignal.any([signal, late.signal]), hold)
        .catch(reject)
        .finally(stopWaiting)
    })
}

/** Without limits. */
export const unlimitedProviderSlots: ProviderSlots = async () => ({
  release: () => undefined,
  isWanted: () => false,
})

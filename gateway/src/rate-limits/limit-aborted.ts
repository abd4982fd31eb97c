/**
 * Limits how often the clients of a key may disconnect while a provider works for them. Completed work is charged in any
 * case; this limits work that is started and may end without a charge.
 */
import type { Meter, Metered } from '../billing/metering/meter.ts'
import type { Log } from '../platform/log.ts'
import type { RateLimit } from './rate-limit.ts'

export const limitAborted = (
  meter: Meter,
  { countAborted, assertFewAborted }: Pick<RateLimit, 'countAborted' | 'assertFewAborted'>,
  log: Log,
): Meter => ({
  ...meter,
  open: async (order) => {
    const { caller, signal } = order
    await assertFewAborted(caller)
    const metered = await meter.open(order)
    let isCounted = false
    const count = () => {
      if (isCounted) return
      isCounted = true
      countAborted(caller).catch((error: unknown) => log.warn({ err: error }, 'limits.not-counted'))
    }
    signal?.addEventListener('abort', count, { once: true })
    const settle: Metered['settle'] = (outcome, chargedFor) => {
      // A stream may end as aborted a moment before the signal aborts; then the listener counts it.
      if (outcome !== 'aborted') signal?.removeEventListener('abort', count)
      else if (signal?.aborted === true) count()
      return metered.settle(outcome, chargedFor)
    }
    return { ...metered, settle }
  },
})

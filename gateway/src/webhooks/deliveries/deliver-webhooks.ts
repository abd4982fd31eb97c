/**
 * The loop of an endpoint: claims its due deliveries and hands them to the sender of this worker. It ends as soon as nothing is
 * pending, and a new event wakes it. The wake-up is a hint: what it misses is found by the comparison with the engine.
 */
import type { LimitFunction } from 'p-limit'

import { loop, type Ticked } from '../../platform/engine/loop.ts'
import type { RunningSteps } from '../../platform/engine/running-steps.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { claimDue, nextDeliveryInMs } from './delivery-store.ts'
import type { SenderPermits } from './sender-permits.ts'
import type { SendDeliveries } from './sender.ts'

export const deliverWebhooksName = 'deliverWebhooks'

/** While all permits of a worker are taken; with an attempt of its own under way, the end of that one wakes the loop earlier. */
const withoutPermitMs = 1_000
const behindOwnAttemptsMs = 10_000
const soonMs = 50

export interface DeliverDependencies {
  postgres: Postgres
  databaseLimit: LimitFunction
  permits: SenderPermits
  send: SendDeliveries
  /** The most attempts of one endpoint. */
  attemptsAtOnceMax: number
  /** Longer than the timeout of an attempt, so that only the attempts of killed workers are repeated. */
  claimMs: number
}

/** One tick of the loop. */
export const deliverDue = async (
  { postgres, databaseLimit, permits, send, attemptsAtOnceMax, claimMs }: DeliverDependencies,
  endpointId: string,
  tickId: string,
): Promise<Ticked> => {
  const permitted = permits.take(endpointId, attemptsAtOnceMax)
  let claimed = 0
  try {
    const deliveries =
      permitted === 0
        ? []
        : await databaseLimit(() => claimDue(postgres, endpointId, tickId, permitted, claimMs))
    claimed = deliveries.length
    send(deliveries)
  } finally {
    for (let unused = permitted - claimed; unused > 0; unused -= 1) permits.giveBack(endpointId)
  }
  const dueInMs = await databaseLimit(() => nextDeliveryInMs(postgres, endpointId))
  if (dueInMs === undefined) return {}
  const waitMs =
    claimed < permitted ? soonMs : permits.has(endpointId) ? behindOwnAttemptsMs : withoutPermitMs
  return { nextMs: Math.max(waitMs, Math.ceil(dueInMs)) }
}

export const deliverWebhooks = (dependencies: DeliverDependencies, steps: RunningSteps) =>
  loop(deliverWebhooksName, steps, (endpointId, tickId) => deliverDue(dependencies, endpointId, tickId))
